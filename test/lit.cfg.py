# lit runs the RUN lines of every .mlir, .test and .toml file below test/, with the built programs first on PATH.
# To run one file by hand: /usr/lib/llvm-22/bin/lit -v build/test --filter fold-reshard
import os
import shutil

import lit.formats

config.name = "dtc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test", ".toml"]
config.excludes = ["unit", "Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.dtc_build_dir, "test", "lit")

root = os.path.dirname(config.test_source_root)
bin_dir = os.path.join(config.dtc_build_dir, "bin")
# build/bin has dtc, dtrun, dtc-opt; LLVM's folder has FileCheck, not, count, split-file, llvm-objdump. build/test has
# programs that are for tests alone.
test_dir = os.path.join(config.dtc_build_dir, "test")
config.environment["PATH"] = os.pathsep.join([bin_dir, test_dir, config.llvm_tools_dir, os.environ["PATH"]])
# The substitutions are %root: the source tree, %build: the build folder, %configs: model configurations, %digits: the
# classifier, %python: the interpreter that runs lit.
config.substitutions.append(("%root", root))
config.substitutions.append(("%build", config.dtc_build_dir))
config.substitutions.append(("%configs", os.path.join(root, "models", "configs")))
config.substitutions.append(("%digits", os.path.join(root, "models", "digits")))
config.substitutions.append(("%python", "/usr/bin/python3"))

# Scripts of run/ find the programs by DTC_BIN.
config.environment.update(DTC_BIN=bin_dir, PYTHONDONTWRITEBYTECODE="1")

# Several MPI processes share few cores, also as root (as in containers), and yield instead of spinning.
config.environment.update(
    OMPI_ALLOW_RUN_AS_ROOT="1",
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
    OMPI_MCA_rmaps_base_oversubscribe="1",
    OMPI_MCA_mpi_yield_when_idle="1",
    OMPI_MCA_btl_vader_single_copy_mechanism="none",
)
for name in ("HOME", "TMPDIR", "CI"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

if os.path.exists(os.path.join(bin_dir, "dtc-planner-bench")):
    config.available_features.add("planner-bench")
if shutil.which("mpirun"):
    config.available_features.add("mpi")
for program in ("fish", "zsh", "groff"):
    if shutil.which(program):
        config.available_features.add(program)
if shutil.which("chromium"):
    config.available_features.add("chromium")
else:
    lit_config.note("tests that need Debian's chromium are left out: it is not installed")

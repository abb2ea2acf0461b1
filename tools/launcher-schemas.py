#!/usr/bin/env python3
"""Extracts the flags and fields that launchers define - names, types, choices, defaults - into
test/export/launchers/NAME-RELEASE.json.

test/export/check_exports.py checks the output of 'dtc export' against these files.

tools/launcher-schemas.py megatron-lm=FROM [megatron-bridge=FROM] [torchtitan=FROM] [deepspeed=FROM] [maxtext=FROM]
                          [-o FOLDER]

FROM is a wheel or a source archive as 'pip download --no-deps' gets it, or a checkout or git directory, of which HEAD
is read, or with @TAG behind it that tag. Without a release the file's name has the first 8 digits of the commit.
Sources are parsed (ast), never imported: torch, jax and the launchers need not be installed. megatron-bridge takes
most of its classes from Megatron-LM, so the two are given together.
"""
import argparse
import ast
import json
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REPOSITORIES = {
    "megatron-lm": "NVIDIA/Megatron-LM",
    "megatron-bridge": "NVIDIA-NeMo/Megatron-Bridge",
    "torchtitan": "pytorch/torchtitan",
    "deepspeed": "deepspeedai/DeepSpeed",
    "maxtext": "AI-Hypercomputer/maxtext",
}
PRIMITIVES = {"int", "float", "str", "bool"}


class Repository:
    """Files of a checkout, of a git directory at a reference, or of a package as pip downloads it, parsed on demand."""

    def __init__(self, path, reference="HEAD"):
        self.path, self.reference = Path(path), reference
        self.read_files, self.trees, self.versions = [], {}, {}
        self.packed = None
        if self.path.is_file():
            self.packed = self.unpack()
            self.files = sorted(self.packed)
            return
        work_tree = self.path / ".git"
        self.git_dir = work_tree if work_tree.exists() else self.path
        self.files = self.git("ls-tree", "-r", "--name-only", reference).splitlines()

    def unpack(self):
        """Returns path -> bytes of a wheel, or of a source archive without its top folder."""
        if self.path.suffix == ".whl":
            with zipfile.ZipFile(self.path) as archive:
                return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
        with tarfile.open(self.path) as archive:
            members = [member for member in archive.getmembers() if member.isfile() and "/" in member.name]
            return {member.name.split("/", 1)[1]: archive.extractfile(member).read() for member in members}

    def git(self, *args):
        done = subprocess.run(["git", f"--git-dir={self.git_dir}", *args], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"launcher-schemas.py: git {args[0]} of '{self.path}': {done.stderr.strip()}")
        return done.stdout

    def stored(self, file):
        """Returns the file's own path: a wheel has no folder 'src' around its packages."""
        return file if file in self.files else file.removeprefix("src/")

    def text(self, file):
        file = self.stored(file)
        if file not in self.read_files:
            self.read_files.append(file)
        if self.packed is None:
            return self.git("show", f"{self.reference}:{file}")
        if file not in self.packed:
            sys.exit(f"launcher-schemas.py: '{self.path}' has no file '{file}'")
        return self.packed[file].decode()

    def tree(self, file):
        if file not in self.trees:
            self.trees[file] = ast.parse(self.text(file))
        return self.trees[file]

    def constants(self, file):
        """Returns NAME = "text" or number, of a module."""
        found = {}
        for node in self.tree(file).body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                value = literal(node.value)
                if value is not None:
                    found[node.targets[0].id] = value
        return found

    def classes_under(self, folder):
        """Returns class name -> file, of the files below a folder that define the class; the first file wins."""
        folder = folder if any(file.startswith(folder + "/") for file in self.files) else folder.removeprefix("src/")
        found = {}
        if self.packed is None:
            listing = self.git("grep", "-E", "^class [A-Za-z_0-9]+", self.reference, "--",
                               f"{folder}/*.py").splitlines()
            lines = [tuple(line[len(self.reference) + 1 :].split(":", 1)) for line in listing]
        else:
            own = [file for file in self.files if file.startswith(folder + "/") and file.endswith(".py")]
            lines = [(file, line) for file in own for line in self.packed[file].decode().splitlines()
                     if re.match(r"class [A-Za-z_0-9]+", line)]
        for file, code in lines:
            name = code.removeprefix("class ").split("(")[0].split(":")[0].strip()
            found.setdefault(name, file)
        return found

    def about(self, launcher):
        head = {"launcher": launcher, "repository": REPOSITORIES[launcher]}
        if self.packed is not None:
            metadata = next(self.packed[file] for file in self.files if file.endswith("METADATA")
                            or file == "PKG-INFO").decode()
            version = re.search(r"^Version: (\S+)$", metadata, re.M).group(1)
            return {**head, "release": version, "files": sorted(self.read_files)}
        commit, date = self.git("log", "-1", "--format=%H %cs", self.reference).split()
        release = {} if self.reference == "HEAD" else {"release": self.reference.split("v")[-1]}
        return {**head, **release, "commit": commit, "date": date, "files": sorted(self.read_files)}


def literal(node):
    """Returns the value of a constant expression, or None."""
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return None


def name_of(node):
    """Returns the last name, a, of `a`, `x.a` and `x.y.a`."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None


class Types:
    """Annotations as {"type", "choices", "items", "of", "optional"}; enumerations are looked up among classes."""

    def __init__(self, find_class):
        self.find_class = find_class

    def of(self, node):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return self.of(ast.parse(node.value, mode="eval").body)
        if isinstance(node, ast.Constant) and node.value is None:
            return {"type": "none"}
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return self.union([node.left, node.right])
        if isinstance(node, ast.Subscript):
            return self.subscript(name_of(node.value), node.slice)
        name = name_of(node)
        if name in PRIMITIVES:
            return {"type": name}
        if name in ("list", "List"):
            return {"type": "list", "items": {"type": "other"}}
        if name == "dict":
            return {"type": "object"}
        aliases = {"pp_int": "int", "PositiveInt": "int", "NonNegativeInt": "int", "NonNegativeFloat": "float",
                   "PositiveFloat": "float"}
        if name in aliases:
            return {"type": aliases[name]}
        members = self.members(name)
        if members:
            return {"type": "str", "choices": members}
        is_class = (name or "").strip("_")[:1].isupper() and name not in ("Any", "Callable", "Dict", "Path")
        return {"type": "object" if is_class else "other"}

    def subscript(self, name, inner):
        parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        if name == "Optional":
            return {**self.of(parts[0]), "optional": True}
        if name == "Union":
            return self.union(parts)
        if name == "Annotated":
            return self.of(parts[0])
        if name == "Literal":
            choices = [literal(part) for part in parts]
            return {"type": type(choices[0]).__name__, "choices": choices}
        if name in ("list", "List", "tuple", "Tuple", "Sequence"):
            return {"type": "list", "items": self.of(parts[0])}
        return {"type": "other"}

    def union(self, parts):
        kinds = [self.of(part) for part in parts]
        optional = any(kind["type"] == "none" or kind.get("optional") for kind in kinds)
        kinds = [kind for kind in kinds if kind["type"] != "none"]
        if len(kinds) == 1:
            merged = dict(kinds[0])
        else:
            merged = {"type": "any", "of": kinds}
        return {**merged, "optional": True} if optional else merged

    def members(self, name):
        """Returns the values of an enumeration of strings, the names of any other."""
        node = self.find_class(name) if name else None
        if node is None or not any("Enum" in (name_of(base) or "") for base in node.bases):
            return None
        found = []
        is_text = any(name_of(base) in ("str", "StrEnum") for base in node.bases)
        for line in node.body:
            if isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name):
                value = literal(line.value)
                found.append(value if is_text and isinstance(value, str) else line.targets[0].id)
        return found


class Dataclasses:
    """Fields of dataclasses and of pydantic models, those of their bases first."""

    def __init__(self, *sources):
        """Takes repositories, each with a map from class names to files, the preferred first."""
        self.sources = sources
        self.types = Types(self.find)

    def find(self, name):
        for repository, files in self.sources:
            if name in files:
                for node in repository.tree(files[name]).body:
                    if isinstance(node, ast.ClassDef) and node.name == name:
                        return node
        return None

    def fields(self, node):
        """Returns name -> (type, the right-hand side) of a class."""
        found = {}
        for base in node.bases:
            parent = self.base(node, name_of(base))
            if parent is not None:
                found.update(self.fields(parent))
        for line in node.body:
            if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
                if name_of(line.annotation) == "ClassVar" or (
                    isinstance(line.annotation, ast.Subscript) and name_of(line.annotation.value) == "ClassVar"
                ):
                    continue
                found[line.target.id] = (self.types.of(line.annotation), line.value)
        return found

    def base(self, node, name):
        """Returns a base class of Bridge, which names Megatron's classes MCoreX and MTrainX, and its own X."""
        if name is None:
            return None
        for prefix in ("MCore", "MTrain"):
            if name.startswith(prefix) and name.removeprefix(prefix) == node.name:
                repository, files = self.sources[-1]
                tree = repository.tree(files[node.name])
                return next(each for each in tree.body if isinstance(each, ast.ClassDef) and each.name == node.name)
        found = self.find(name)
        return None if found is node else found


def default_of(value):
    """Returns the default in a field's right-hand side, if it is a constant."""
    if value is None:
        return None
    if isinstance(value, ast.Call) and name_of(value.func) in ("field", "Field"):
        for keyword in value.keywords:
            if keyword.arg == "default":
                return default_of(keyword.value)
        return default_of(value.args[0]) if value.args else None
    if isinstance(value, ast.Call) and name_of(value.func) == "pp_int":
        return default_of(value.args[0])
    if isinstance(value, ast.Attribute) and value.attr.isupper():
        return None
    return literal(value)


def entry_of(kind, value):
    entry = {key: kind[key] for key in ("type", "choices", "items", "of") if kind.get(key)}
    if kind.get("optional"):
        entry["optional"] = True
    default = default_of(value)
    if default is not None and isinstance(default, (int, float, str, bool)) and len(str(default)) < 60:
        entry["default"] = default
    return entry


def metadata_of(value):
    """Returns the argparse_meta of a field, with the constants in it."""
    if not (isinstance(value, ast.Call) and name_of(value.func) == "field"):
        return {}
    for keyword in value.keywords:
        if keyword.arg == "metadata" and isinstance(keyword.value, ast.Dict):
            for key, inner in zip(keyword.value.keys, keyword.value.values):
                if literal(key) == "argparse_meta" and isinstance(inner, ast.Dict):
                    return {literal(k): v for k, v in zip(inner.keys, inner.values)}
    return {}


class MegatronFlags:
    """Flags of argparse: add_argument calls, and dataclasses that ArgumentGroupFactory turns into flags."""

    FILE = "megatron/training/arguments.py"

    def __init__(self, repository):
        self.repository = repository
        files = {**repository.classes_under("megatron/core"), **repository.classes_under("megatron/training")}
        self.dataclasses = Dataclasses((repository, files))
        self.flags = {}

    def extract(self):
        tree = self.repository.tree(self.FILE)
        functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        for call in ast.walk(functions["add_megatron_arguments"]):
            if isinstance(call, ast.Call) and name_of(call.func) in functions:
                self.group(functions[name_of(call.func)])
        return self.flags

    def group(self, function):
        lists = {
            node.targets[0].id: literal(node.value)
            for node in ast.walk(function)
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
            and isinstance(node.value, ast.List)
        }
        for node in ast.walk(function):
            if not isinstance(node, ast.Call):
                continue
            if name_of(node.func) == "add_argument":
                self.argument(node)
            elif (name_of(node.func) or "").endswith("GroupFactory"):
                exclude = next((keyword.value for keyword in node.keywords if keyword.arg == "exclude"), None)
                names = lists.get(exclude.id) if isinstance(exclude, ast.Name) else literal(exclude) if exclude else []
                self.dataclass(name_of(node.args[0]), names or [])

    def argument(self, call):
        words = {keyword.arg: keyword.value for keyword in call.keywords}
        names = [literal(arg) for arg in call.args]
        action = literal(words["action"]) if "action" in words else None
        if action and action.startswith("store_"):
            entry = {"type": "flag"}
        else:
            entry = {"type": name_of(words.get("type")) or "str"}
            if entry["type"] not in PRIMITIVES:
                entry["type"] = "other"
            if "choices" in words and literal(words["choices"]) is not None:
                entry["choices"] = list(literal(words["choices"]))
            if "nargs" in words:
                entry["nargs"] = literal(words["nargs"])
        default = literal(words["default"]) if "default" in words else None
        if isinstance(default, (int, float, str, bool)):
            entry["default"] = default
        for name in names:
            self.flags[name] = entry

    def dataclass(self, name, excluded):
        node = self.dataclasses.find(name)
        if node is None:
            sys.exit(f"launcher-schemas.py: no class '{name}', of which {self.FILE} makes flags")
        for field, (kind, value) in self.dataclasses.fields(node).items():
            is_init = not any(k.arg == "init" and literal(k.value) is False for k in getattr(value, "keywords", []))
            if field not in excluded and is_init:
                self.field(field, kind, value)

    def field(self, field, kind, value):
        meta = metadata_of(value)
        dashed = field.replace("_", "-")
        is_list = kind["type"] == "list"
        single = kind["items"] if is_list else kind
        entry = {key: single[key] for key in ("type", "choices") if key in single}
        names = [f"--{dashed}"]
        if kind["type"] == "bool":
            if default_of(value):
                names = [f"--no-{dashed}", f"--disable-{dashed}"]
            entry = {"type": "flag"}
        elif is_list:
            entry["nargs"] = "+"
        if entry["type"] not in PRIMITIVES | {"flag"}:
            entry["type"] = "other"
        if "arg_names" in meta:
            names = literal(meta["arg_names"])
        if "nargs" in meta:
            entry["nargs"] = literal(meta["nargs"])
        if "choices" in meta and literal(meta["choices"]):
            entry["choices"] = literal(meta["choices"])
        if "type" in meta and name_of(meta["type"]) in PRIMITIVES:
            entry["type"] = name_of(meta["type"])
        default = default_of(value)
        if entry["type"] != "flag" and isinstance(default, (int, float, str)):
            entry["default"] = default
        for name in names:
            self.flags[name] = entry


def megatron_lm(repositories):
    return {"flags": MegatronFlags(repositories["megatron-lm"]).extract()}


def sections_of(dataclasses, sections):
    """Returns section -> field -> entry, of several classes each: a section may hold any of them."""
    found = {}
    for section, names in sections.items():
        fields = found.setdefault(section, {})
        for name in names:
            node = dataclasses.find(name)
            if node is None:
                sys.exit(f"launcher-schemas.py: no class '{name}' of section '{section}'")
            for field, (kind, value) in dataclasses.fields(node).items():
                fields.setdefault(field, entry_of(kind, value))
    return found


def megatron_bridge(repositories):
    if "megatron-lm" not in repositories:
        sys.exit("launcher-schemas.py: megatron-bridge extends Megatron-LM's classes; give megatron-lm=FROM as well")
    bridge, megatron = repositories["megatron-bridge"], repositories["megatron-lm"]
    own = {**bridge.classes_under("src/megatron/bridge/models"), **bridge.classes_under("src/megatron/bridge/training")}
    theirs = {**megatron.classes_under("megatron/core"), **megatron.classes_under("megatron/training")}
    dataclasses = Dataclasses((bridge, own), (megatron, theirs))
    container = dataclasses.find("ConfigContainer")
    sections = {
        "train": ["TrainingConfig"],
        "model": ["GPTModelProvider"],
        "optimizer": ["OptimizerConfig"],
        "ddp": ["DistributedDataParallelConfig"],
        "dataset": ["GPTDatasetConfig"],
        "checkpoint": ["CheckpointConfig"],
        "dist": ["DistributedInitConfig"],
    }
    fields = sections_of(dataclasses, sections)
    top = set(dataclasses.fields(container))
    missing = set(sections) - top
    if missing:
        sys.exit(f"launcher-schemas.py: ConfigContainer has no {', '.join(sorted(missing))}")
    calls = sections_of(dataclasses, {name: [name] for name in ("MixedPrecisionConfig", "CommOverlapConfig")})
    return {"top": sorted(top), "sections": fields, "calls": calls}


def nested(repository, file, path):
    """Finds a class in a class: ("FullAC", "Config")."""
    body = repository.tree(file).body
    for name in path:
        node = next(each for each in body if isinstance(each, ast.ClassDef) and each.name == name)
        body = node.body
    return node


def torchtitan(repositories):
    repository = repositories["torchtitan"]
    config = "torchtitan/config/configs.py"
    files = {node.name: config for node in repository.tree(config).body if isinstance(node, ast.ClassDef)}
    dataclasses = Dataclasses((repository, files))
    sections = sections_of(
        dataclasses, {"training": ["TrainingConfig"], "parallelism": ["ParallelismConfig"],
                      "compile": ["CompileConfig"]}
    )
    trainer = dataclasses.fields(nested(repository, "torchtitan/trainer.py", ("Trainer", "Config")))
    policies = "torchtitan/distributed/activation_checkpoint.py"
    calls = {}
    for name in ("FullAC", "SelectiveAC"):
        base = nested(repository, policies, ("ActivationCheckpointing", "Config"))
        own = nested(repository, policies, (name, "Config"))
        fields = {**dataclasses.fields(base), **dataclasses.fields(own)}
        calls[f"{name}.Config"] = {field: entry_of(kind, value) for field, (kind, value) in fields.items()}
    quantization = "torchtitan/components/quantization/"
    for name in ("Float8LinearConverter", "Float8GroupedExpertsConverter"):
        base = nested(repository, quantization + "__init__.py", ("QuantizationConverter", "Config"))
        own = nested(repository, quantization + "float8.py", (name, "Config"))
        fields = {**dataclasses.fields(base), **dataclasses.fields(own)}
        calls[f"{name}.Config"] = {field: entry_of(kind, value) for field, (kind, value) in fields.items()}
    spec = nested(repository, "torchtitan/protocols/model_spec.py", ("ModelSpec",))
    sections["model_spec"] = {field: entry_of(kind, value) for field, (kind, value) in dataclasses.fields(spec).items()}
    return {"top": sorted(trainer), "sections": sections, "calls": calls}


class DeepSpeedKeys:
    """Keys of the JSON configuration: those that DeepSpeedConfig reads, and the fields of the models that it makes of
    sections.
    """

    CONFIG, CONSTANTS = "deepspeed/runtime/config.py", "deepspeed/runtime/constants.py"

    def __init__(self, repository):
        self.repository = repository
        self.constants = {**repository.constants(self.CONSTANTS), **repository.constants(self.CONFIG)}
        for file in ("deepspeed/runtime/zero/config.py", "deepspeed/runtime/precision_config.py"):
            self.constants.update(repository.constants(file))

    def word(self, node):
        value = literal(node)
        return value if isinstance(value, str) else self.constants.get(name_of(node))

    def read_of(self, tree, dictionary):
        """Returns keys that code reads of a dictionary by that name -> entries; the type is the default's."""
        found = {}
        for node in ast.walk(tree):
            key = default = None
            if (isinstance(node, ast.Call) and name_of(node.func) == "get_scalar_param" and name_of(node.args[0])
                == dictionary):
                key, default = self.word(node.args[1]), self.value(node.args[2])
            elif (isinstance(node, ast.Call) and name_of(node.func) == "get"
                  and name_of(getattr(node.func, "value", None)) == dictionary):
                key, default = self.word(node.args[0]), self.value(node.args[1]) if len(node.args) > 1 else None
            elif isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In):
                of = node.comparators[0]
                of = of.func.value if isinstance(of, ast.Call) and name_of(of.func) == "keys" else of
                if name_of(of) == dictionary:
                    key = self.word(node.left)
            elif isinstance(node, ast.Subscript) and name_of(node.value) == dictionary:
                key = self.word(node.slice)
            if isinstance(key, str):
                entry = found.setdefault(key, {"type": "other"})
                if isinstance(default, (int, float, str, bool)):
                    entry.update(type=type(default).__name__, default=default)
        return found

    def value(self, node):
        value = literal(node)
        return value if value is not None else self.constants.get(name_of(node))

    def model(self, file, name):
        files = {node.name: file for node in self.repository.tree(file).body if isinstance(node, ast.ClassDef)}
        dataclasses = Dataclasses((self.repository, files))
        found = {}
        for field, (kind, value) in dataclasses.fields(dataclasses.find(name)).items():
            alias = next((literal(k.value) for k in getattr(value, "keywords", []) if k.arg == "alias"), None)
            found[alias or field] = entry_of(kind, value)
        return found


def deepspeed(repositories):
    keys = DeepSpeedKeys(repositories["deepspeed"])
    config = keys.repository.tree(keys.CONFIG)
    top = keys.read_of(config, "param_dict")
    for file in ("deepspeed/runtime/zero/config.py", "deepspeed/runtime/precision_config.py"):
        top.update(keys.read_of(keys.repository.tree(file), "param_dict"))
    top.update(keys.read_of(keys.repository.tree("deepspeed/runtime/tensor_parallel/config.py"), "ds_config"))
    # get_communication_data_type takes the key and its values in other ways than as a literal.
    names = [keys.constants["COMMUNICATION_DATA_TYPE"], keys.constants["SEQ_PARALLEL_COMMUNICATION_DATA_TYPE"]]
    for name in names:
        top[name] = {"type": "str", "choices": communication_types(config)}
    for count in ("TRAIN_BATCH_SIZE", "TRAIN_MICRO_BATCH_SIZE_PER_GPU", "GRADIENT_ACCUMULATION_STEPS"):
        top[keys.constants[count]] = {"type": "int"}
    zero, precision = "deepspeed/runtime/zero/config.py", "deepspeed/runtime/precision_config.py"
    experts = keys.repository.tree("deepspeed/module_inject/auto_ep_config.py")
    parse = next(node for node in experts.body if isinstance(node, ast.FunctionDef)
                 and node.name == "parse_autoep_config")
    sections = {
        "zero_optimization": keys.model(zero, "DeepSpeedZeroConfig"),
        "zero_optimization.offload_optimizer": keys.model(
            "deepspeed/runtime/zero/offload_config.py", "DeepSpeedZeroOffloadOptimizerConfig"
        ),
        "bf16": keys.model(precision, "DeepSpeedBF16Config"),
        "fp16": keys.model(precision, "DeepSpeedFP16Config"),
        "tensor_parallel": keys.model("deepspeed/runtime/tensor_parallel/config.py", "TPTrainingConfig"),
        "expert_parallel": keys.read_of(parse, "param_dict"),
        "data_types": {name: {"type": "str", "choices": dtype_words(config)}
                       for name in keys.read_of(config, "data_types_params")},
        "optimizer": {
            keys.constants["TYPE"]: {"type": "str"},
            keys.constants["OPTIMIZER_PARAMS"]: {"type": "other"},
            keys.constants["LEGACY_FUSION"]: {"type": "bool"},
        },
    }
    stages = next(node for node in keys.repository.tree(zero).body if isinstance(node, ast.ClassDef)
                  and node.name == "ZeroStageEnum")
    sections["zero_optimization"]["stage"] = {
        "type": "int",
        "choices": [literal(line.value) for line in stages.body if isinstance(line, ast.Assign)
                    and literal(line.value) is not None],
    }
    optimizers = [keys.constants[name_of(each)] for each in list_of(config, "DEEPSPEED_OPTIMIZERS")]
    return {"top": top, "sections": sections, "optimizers": optimizers}


def list_of(tree, name):
    return next(node.value.elts for node in tree.body if isinstance(node, ast.Assign) and name_of(node.targets[0])
                == name)


def communication_types(config):
    """Returns the strings that get_communication_data_type compares with."""
    function = next(node for node in config.body if isinstance(node, ast.FunctionDef)
                    and node.name == "get_communication_data_type")
    return [literal(n.comparators[0]) for n in ast.walk(function) if isinstance(n, ast.Compare)
            and isinstance(n.ops[0], ast.Eq)]


def dtype_words(config):
    """Returns the strings of DtypeEnum."""
    node = next(each for each in config.body if isinstance(each, ast.ClassDef) and each.name == "DtypeEnum")
    words = []
    for line in node.body:
        if isinstance(line, ast.Assign) and isinstance(line.value, ast.Tuple):
            words += [literal(word) for word in line.value.elts if isinstance(literal(word), str)]
    return words


def maxtext(repositories):
    repository = repositories["maxtext"]
    types = "src/maxtext/configs/types.py"
    files = {node.name: types for node in repository.tree(types).body if isinstance(node, ast.ClassDef)}
    dataclasses = Dataclasses((repository, files))
    fields = dataclasses.fields(dataclasses.find("MaxTextConfig"))
    base = "src/maxtext/configs/base.yml"
    keys = [line.split(":")[0] for line in repository.text(base).splitlines() if line[:1].isalpha() and ":" in line]
    entries = {name: entry_of(kind, value) for name, (kind, value) in fields.items()}
    # A list in the decoder names the policies, and the field is any text.
    policies = dataclasses.types.members("RematPolicy")
    decoder = "src/maxtext/layers/nnx_decoders.py"
    compared = set()
    for node in ast.walk(repository.tree(decoder)):
        if isinstance(node, ast.Compare) and name_of(node.left) == "remat_policy":
            for word in node.comparators:
                value = literal(word)
                compared |= value if isinstance(value, set) else {value} if isinstance(value, str) else set()
    entries["remat_policy"]["choices"] = sorted(set(policies) | compared)
    return {"top": entries, "base": sorted(set(keys))}


EXTRACTORS = {
    "megatron-lm": megatron_lm,
    "megatron-bridge": megatron_bridge,
    "torchtitan": torchtitan,
    "deepspeed": deepspeed,
    "maxtext": maxtext,
}


def write(schema, path):
    """Writes JSON with one line for each flag or field: differences between versions are then differences of lines."""

    def dump(value, depth):
        pad = "  " * depth
        is_entry = isinstance(value, dict) and "type" in value and isinstance(value["type"], str)
        if not isinstance(value, dict) or is_entry or not value:
            return json.dumps(value)
        lines = [f"{pad}  {json.dumps(key)}: {dump(inner, depth + 1)}" for key, inner in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{pad}}}"

    path.write_text(dump(schema, 0) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("launchers", nargs="+", metavar="NAME=FROM")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "test/export/launchers")
    options = parser.parse_args()
    repositories = {}
    for each in options.launchers:
        name, _, path = each.partition("=")
        if name not in EXTRACTORS or not path:
            parser.error(f"'{each}' is none of {', '.join(EXTRACTORS)} with where it is: NAME=FROM")
        path, _, reference = path.partition("@")
        repositories[name] = Repository(path, reference or "HEAD")
    for name in repositories:
        schema = EXTRACTORS[name](repositories)
        schema = {**repositories[name].about(name), **schema}
        file = options.output / f"{name}-{schema.get('release') or schema['commit'][:8]}.json"
        write(schema, file)
        count = (sum(len(part) for key, part in schema.items() if key in ("flags", "top"))
                 + sum(map(len, schema.get("sections", {}).values())))
        print(f"{file}: {count} flags and fields of {schema['repository']}")


if __name__ == "__main__":
    main()

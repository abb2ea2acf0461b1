// Prints executables for programs: `dtc inspect model.dte --format json`.
#include "compiler/build/emit/InspectJson.h"

#include "compiler/build/emit/Communication.h"
#include "compiler/build/emit/InspectParts.h"

#include "runtime/format/Communicators.h"
#include "runtime/format/Operands.h"
#include "runtime/format/Target.h"

#include "llvm/Support/JSON.h"

namespace dtc {

namespace {
using llvm::json::OStream;

template <typename Vector> void numbers(OStream &json, const char *key, const Vector *values) {
  json.attributeArray(key, [&] {
    for (uint32_t i = 0; i < format::sizeOf(values); ++i)
      json.value(static_cast<int64_t>(values->Get(i)));
  });
}

void shards(OStream &json,
            const flatbuffers::Vector<flatbuffers::Offset<format::ShardedDim>> *values) {
  json.attributeArray("shards", [&] {
    for (uint32_t i = 0; i < format::sizeOf(values); ++i)
      json.object([&] {
        json.attribute("dim", values->Get(i)->dim());
        json.attribute("axis", values->Get(i)->axis());
        if (values->Get(i)->zigzag())
          json.attribute("zigzag", true);
      });
  });
}

void inputs(OStream &json, const format::Program &program) {
  json.attributeArray("inputs", [&] {
    for (const format::Input *input : *program.inputs())
      json.object([&] {
        json.attribute("name", textOf(input->name()));
        json.attribute("dtype", EnumNameDType(input->dtype()));
        numbers(json, "sample_shape", input->sample_shape());
        numbers(json, "local_shape", input->shape());
        shards(json, input->shards());
        if (input->below() > 0)
          json.attribute("below", static_cast<int64_t>(input->below()));
        if (input->ignored())
          json.attribute("ignored", *input->ignored());
      });
  });
}

void tensors(OStream &json, const char *key,
             const flatbuffers::Vector<flatbuffers::Offset<format::Tensor>> *values) {
  json.attributeArray(key, [&] {
    for (uint32_t i = 0; i < format::sizeOf(values); ++i)
      json.object([&] {
        const format::Tensor &tensor = *values->Get(i);
        json.attribute("name", textOf(tensor.name()));
        json.attribute("dtype", EnumNameDType(tensor.dtype()));
        numbers(json, "global_shape", tensor.global_shape());
        numbers(json, "stored_shape", tensor.stored_shape());
        numbers(json, "local_shape", tensor.local_shape());
        shards(json, tensor.shards());
      });
  });
}

// Writes the repeats, which are stored once for several layers.
void repeats(OStream &json, const format::Program &program) {
  json.attributeArray("repeats", [&] {
    for (const format::Task *task : *program.tasks())
      for (uint32_t i = 0; i < format::sizeOf(task->repeats()); ++i)
        json.object([&] {
          const format::Repeat &repeat = *task->repeats()->Get(i);
          json.attribute("task", textOf(task->name()));
          json.attribute("begin", repeat.begin());
          json.attribute("end", repeat.end());
          json.attribute("layers", repeat.count());
        });
  });
}

void communication(OStream &json, const std::vector<Traffic> &all) {
  json.attributeArray("communication", [&] {
    for (const Traffic &traffic : all)
      json.object([&] {
        json.attribute("group", traffic.group);
        json.attribute("kind", traffic.kind);
        json.attribute("role", EnumNameCollectiveRole(traffic.role));
        json.attribute("count", static_cast<int64_t>(traffic.count));
        json.attribute("bytes", static_cast<int64_t>(traffic.bytes));
      });
  });
}

// Writes how often each entry runs each task.
void entries(OStream &json, const format::Program &program) {
  json.attributeObject("entries", [&] {
    for (const format::Entry *entry : *program.entries())
      json.attributeObject(EnumNameEntryKind(entry->kind()), [&] {
        std::vector<uint32_t> runs = format::countRuns(program, *entry);
        for (uint32_t task = 0; task < runs.size(); ++task)
          json.attribute(textOf(program.tasks()->Get(task)->name()), runs[task]);
      });
  });
}

void groups(OStream &json, const format::Manifest &manifest) {
  json.attributeArray("groups", [&] {
    for (uint32_t i = 0; i < format::sizeOf(manifest.groups()); ++i)
      json.object([&] {
        const format::Group &group = *manifest.groups()->Get(i);
        json.attribute("name", textOf(group.name()));
        json.attribute("size", group.size());
        numbers(json, "ranks", group.ranks());
      });
  });
}

void programs(OStream &json, const format::Manifest &manifest) {
  format::Communicators communicators(manifest);
  uint32_t index = 0;
  json.attributeArray("programs", [&] {
    for (const format::Program *program : *manifest.programs())
      json.object([&] {
        json.attribute("name", textOf(program->name()));
        json.attribute("arena_bytes", static_cast<int64_t>(program->arena_bytes()));
        json.attribute("host_bytes", static_cast<int64_t>(program->host_bytes()));
        if (format::isForGpu(manifest)) {
          json.attribute("communicators", static_cast<int64_t>(communicators.of(index).size()));
          json.attribute("communicator_bytes", static_cast<int64_t>(communicators.bytesOf(index)));
        }
        ++index;
        json.attribute("streams", program->num_streams());
        json.attribute("events", program->num_events());
        json.attribute("buffers", static_cast<int64_t>(program->buffers()->size()));
        json.attributeObject("memory", [&] {
          auto bytes = bytesByKind(*program);
          for (size_t kind = 0; kind < bytes.size(); ++kind)
            json.attribute(EnumNameBufferKind(static_cast<format::BufferKind>(kind)),
                           static_cast<int64_t>(bytes[kind]));
        });
        json.attribute("instructions", static_cast<int64_t>(countInstructions(*program)));
        json.attribute("unrolled_instructions", static_cast<int64_t>(countUnrolled(*program)));
        repeats(json, *program);
        json.attribute("tasks", static_cast<int64_t>(program->tasks()->size()));
        json.attribute("slots", static_cast<int64_t>(mostSlots(*program)));
        entries(json, *program);
        json.attributeObject("ops", [&] {
          for (const auto &[name, count] : countOps(*program))
            json.attribute(name, static_cast<int64_t>(count));
        });
        inputs(json, *program);
        communication(json, trafficOf(manifest, *program));
        tensors(json, "parameters", program->parameters());
        tensors(json, "optimizer_state", program->optimizer_state());
        tensors(json, "gradients", program->gradients());
      });
  });
}

void rankDetails(OStream &json, const format::Manifest &manifest, uint32_t rank) {
  const format::Program &program = *manifest.programs()->Get(manifest.rank_program()->Get(rank));
  std::vector<int64_t> coordinates = coordinatesOf(manifest, rank);
  json.attribute("rank", rank);
  json.attributeArray("coordinates", [&] {
    for (int64_t coordinate : coordinates)
      json.value(coordinate);
  });
  json.attributeArray("memory_map", [&] {
    for (const format::Buffer *buffer : *program.buffers())
      json.object([&] {
        json.attribute("name", textOf(buffer->name()));
        json.attribute("kind", EnumNameBufferKind(buffer->kind()));
        json.attribute("dtype", EnumNameDType(buffer->dtype()));
        json.attribute("space", EnumNameMemorySpace(buffer->space()));
        json.attribute("offset", static_cast<int64_t>(buffer->offset()));
        json.attribute("bytes", static_cast<int64_t>(buffer->bytes()));
        if (buffer->slots() > 1) {
          json.attribute("slots", static_cast<int64_t>(buffer->slots()));
          json.attribute("slot_stride", static_cast<int64_t>(buffer->slot_stride()));
        }
        if (buffer->micro_batch_stride() > 0)
          json.attribute("micro_batch_stride", static_cast<int64_t>(buffer->micro_batch_stride()));
        if (buffer->layer_stride() != 0)
          json.attribute("layer_stride", buffer->layer_stride());
      });
  });
  json.attributeArray("instruction_list", [&] {
    for (const format::Task *task : *program.tasks())
      for (const format::Instruction *instruction : *task->instructions())
        json.object([&] {
          json.attribute("task", textOf(task->name()));
          json.attribute("op", opNameOf(instruction->op_type()));
          json.attribute("runs", EnumNameRuns(instruction->runs()));
          if (instruction->starts_sum())
            json.attribute("starts_sum", true);
          json.attribute("stream", static_cast<int64_t>(instruction->stream()));
          json.attribute("details", detailsOf(manifest, *instruction, coordinates));
          json.attributeArray("buffers", [&] {
            for (const OperandText &operand : operandsOf(program, *instruction))
              json.object([&] {
                json.attribute("role", operand.role);
                json.attribute("name", operand.name);
                json.attribute("offset", static_cast<int64_t>(operand.offset));
                json.attribute("bytes", static_cast<int64_t>(operand.bytes));
              });
          });
        });
  });
}
} // namespace

void printJson(const format::Manifest &manifest, std::span<const uint8_t> file,
               std::optional<uint32_t> rank, llvm::raw_ostream &out) {
  OStream json(out, /*IndentSize=*/2);
  json.object([&] {
    json.attribute("schema", "dtc.executable/1");
    json.attribute("producer", textOf(manifest.producer()));
    json.attribute("device", llvm::StringRef(format::deviceOf(manifest)));
    if (std::string arch = textOf(manifest.gpu_arch()); !arch.empty())
      json.attribute("gpu_arch", arch);
    json.attributeArray("cpu_features", [&] {
      for (uint32_t i = 0; i < format::sizeOf(manifest.cpu_features()); ++i)
        json.value(textOf(manifest.cpu_features()->Get(i)));
    });
    json.attribute("model", textOf(manifest.model_name()));
    json.attribute("sequence_length", static_cast<int64_t>(manifest.sequence_length()));
    json.attribute("global_batch", static_cast<int64_t>(manifest.global_batch()));
    json.attribute("micro_batch", static_cast<int64_t>(manifest.micro_batch()));
    json.attribute("num_micro_batches", static_cast<int64_t>(manifest.num_micro_batches()));
    json.attribute("ranks", static_cast<int64_t>(manifest.rank_program()->size()));
    json.attributeObject("mesh", [&] {
      for (const format::Axis *axis : *manifest.mesh())
        json.attribute(textOf(axis->name()), axis->size());
    });
    if (manifest.place_ranks())
      numbers(json, "place_ranks", manifest.place_ranks());
    json.attribute("model_flops_per_step", manifest.model_flops_per_step());
    json.attribute("peak_flops_per_device", manifest.peak_flops_per_device());
    json.attribute("peak_memory_bytes", static_cast<int64_t>(manifest.peak_memory_bytes()));
    json.attribute("peak_host_bytes", static_cast<int64_t>(manifest.peak_host_bytes()));
    json.attributeArray("kernels", [&] {
      for (uint32_t i = 0; i < format::sizeOf(manifest.kernels()); ++i)
        json.value(textOf(manifest.kernels()->Get(i)->symbol()));
    });
    json.attributeArray("segments", [&] {
      for (uint32_t i = 0; i < format::sizeOf(manifest.segments()); ++i)
        json.object([&] {
          const format::Segment &segment = *manifest.segments()->Get(i);
          json.attribute("kind", EnumNameSegmentKind(segment.kind()));
          json.attribute("offset", static_cast<int64_t>(segment.offset()));
          json.attribute("bytes", static_cast<int64_t>(segment.bytes()));
          auto calls = callsOf(segment, file);
          if (calls && *calls)
            json.attributeArray("calls", [&] {
              for (const std::string &name : **calls)
                json.value(name);
            });
          else if (calls)
            json.attribute("refused", llvm::json::fixUTF8(calls->error().message));
        });
    });
    groups(json, manifest);
    numbers(json, "rank_program", manifest.rank_program());
    programs(json, manifest);
    if (rank)
      rankDetails(json, manifest, *rank);
  });
  out << '\n';
}

} // namespace dtc

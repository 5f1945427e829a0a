// The module's entry, which base/module.h looks for, and the OnnxWriter that it creates.
#include <google/protobuf/stubs/common.h>
#include <onnx/checker.h>
#include <onnx/common/version.h>
#include <onnx/shape_inference/implementation.h>

#include <limits>
#include <ostream>

#include "base/error.h"
#include "base/files.h"
#include "base/module_entry.h"
#include "base/names.h"
#include "network/onnx/graph.h"

namespace evener::network::onnx_module {
namespace {

// The version of ONNX's file format (IR) that came with the operators of kOperatorSet.
constexpr int kFormatVersion = 7;

onnx::ModelProto make_model(const Network& network, const TensorMap& state, const OnnxOptions& options) {
  onnx::ModelProto model;
  model.set_ir_version(kFormatVersion);
  model.set_producer_name("evener");
  model.set_producer_version(EVENER_VERSION);
  onnx::OperatorSetIdProto& operators = *model.add_opset_import();
  operators.set_domain("");
  operators.set_version(kOperatorSet);
  for (const auto& [key, value] : options.metadata) {
    onnx::StringStringEntryProto& entry = *model.add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
  }
  write_graph(network, state, options, *model.mutable_graph());
  return model;
}

/// Checks the model by ONNX's own rules: operators and attributes must be valid, every value computed before it is
/// used, and the shapes that we wrote equal to those that ONNX infers.
void check(onnx::ModelProto& model) {
  try {
    onnx::checker::check_model(model);
    onnx::shape_inference::InferShapes(model, onnx::OpSchemaRegistry::Instance(),
                                       onnx::ShapeInferenceOptions(/*check_type=*/true, /*strict_mode=*/1));
  } catch (const std::exception& error) {
    throw Error("'" + model.graph().name() +
                "' did not become a valid ONNX file, which is an error of evener: " + error.what());
  }
}

class FileWriter : public OnnxWriter {
 public:
  void write(const std::filesystem::path& path, const Network& network, const TensorMap& state,
             const OnnxOptions& options) override {
    onnx::ModelProto model = make_model(network, state, options);
    check(model);
    const std::size_t bytes = model.ByteSizeLong();
    if (bytes > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
      throw Error("'" + path.string() + "' would have " + bytes_text(bytes) + ", and an ONNX file ends at 2 GB");
    }
    write_file_atomically(path, [&](std::ostream& out) { model.SerializeToOstream(&out); });
  }
};

const char* version() {
  static const std::string text = std::string("ONNX ") + onnx::LAST_RELEASE_VERSION + ", protobuf " +
                                  google::protobuf::internal::VersionString(GOOGLE_PROTOBUF_VERSION);
  return text.c_str();
}

}  // namespace
}  // namespace evener::network::onnx_module

extern "C" {
extern const evener::ModuleEntry evener_module;
const evener::ModuleEntry evener_module =
    evener::module_entry<evener::network::OnnxWriter, evener::network::onnx_module::FileWriter>(
        evener::network::onnx_module::version);
}

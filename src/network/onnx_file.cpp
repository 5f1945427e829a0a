#include "network/onnx_file.h"

#include <fmt/format.h>

#include <limits>
#include <memory>

#include "base/error.h"
#include "base/module.h"
#include "base/names.h"
#include "network/init.h"

namespace evener::network {
namespace {

constexpr std::int64_t kMostBytes = std::numeric_limits<std::int32_t>::max();
// Room for layers, names, shapes and metadata, which take some 100 kB in a large network; being generous costs nothing.
constexpr std::int64_t kGraphBytes = std::int64_t{1} << 24;

}  // namespace

std::string onnx_refusal(const Network& network) {
  std::int64_t bytes = 0;
  for (const Parameter& parameter : network.parameters()) {
    bytes += element_count(parameter.shape) * static_cast<std::int64_t>(sizeof(float));
  }
  if (bytes <= kMostBytes - kGraphBytes) return "";
  return fmt::format(
      "{} has {} of weights, and an ONNX file ends at 2 GB; share its weights as safetensors instead (best.safetensors "
      "in the folder of a run)",
      network.model(), bytes_text(static_cast<std::uint64_t>(bytes)));
}

void write_onnx(const std::filesystem::path& path, const Network& network, const TensorMap& state,
                const OnnxOptions& options) {
  if (const std::string refusal = onnx_refusal(network); !refusal.empty()) throw Error(refusal);
  check_state(network, state, "the weights for '" + path.string() + "'");
  const std::unique_ptr<OnnxWriter> writer(static_cast<OnnxWriter*>(require_module("onnx").create()));
  writer->write(path, network, state, options);
}

}  // namespace evener::network

#include "quantize/values/quantize.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/forked.h"
#include "base/module.h"
#include "infer/export/export.h"
#include "infer/model/metadata.h"
#include "infer/model/trained_model.h"
#include "weights/safetensors.h"

namespace evener::quantization {
namespace {

constexpr std::size_t kSensitivityImages = 64;

constexpr std::size_t kErrorImages = 32;  // that the layers' errors are measured on

/// Facts that were only assumed of the read file are not written into the new one.
std::vector<std::string> told_classes(const inference::InferenceModel& model) {
  return model.names_are_assumed() ? std::vector<std::string>() : model.classes();
}

/// As ONNX: nothing builds the network of another program's file but the file.
void write_onnx_file(const inference::InferenceModel& model, const network::Network& network, TensorMap state,
                     std::optional<data::CropMode> crop, const std::filesystem::path& file) {
  inference::TrainedModel written(network);
  written.state = std::move(state);
  written.classes = told_classes(model);
  written.crop = crop;
  inference::ExportOptions options{.onnx = file, .normalization = {}};
  if (model.takes_images()) options.normalization = model.normalization();
  inference::write_export(written, options);
}

void write_file(const inference::InferenceModel& model, const network::Network& network, TensorMap state,
                const network::QuantizationScheme& scheme, std::optional<data::CropMode> crop,
                const std::filesystem::path& file) {
  inference::ModelFacts facts{network.model(), told_classes(model), {}, {}};
  if (model.takes_images()) {
    facts.input = network.input_shape();
    facts.normalization = model.normalization();
    facts.crop = crop;
  }
  facts.quantization = scheme;
  facts.trained_elsewhere = !model.was_trained_here();
  weights::Metadata metadata = inference::model_metadata(facts);
  metadata["format"] = "evener-weights-1";
  weights::write_safetensors(file, state, metadata);
}

Quality quality_for(const QuantizeRequest& request, const inference::Probe& probe) {
  if (request.photos == nullptr) {
    return [&](const network::Network& network, const TensorMap& state) {
      return inference::accuracy_of(probe, network, state, *request.evaluation);
    };
  }
  return [&, detector = detection::Detector(request.model, request.boxes)](const network::Network& network,
                                                                           const TensorMap& state) {
    return precision_of(probe, network, state, detector, *request.photos);
  };
}

QuantizeOutcome quantize_here(const QuantizeRequest& request, const std::filesystem::path& file) {
  const auto engine = engine::open_engine(engine::usual_runner_engine(DeviceKind::kCpu));
  const inference::Probe probe{*engine, request.model.normalization_of(request.calibration.is_bytes()),
                               request.threads};
  const Quantizer quantizer(probe, *request.model.network(), *request.model.state(), request.calibration,
                            request.options);
  std::set<std::string> kept;
  for (const std::string& pattern : request.keep) kept.merge(quantizer.matching(pattern));
  int trials = 0;
  if (request.evaluation != nullptr || request.photos != nullptr) {
    KeptLayers found = keep_sensitive(quantizer, quality_for(request, probe), kept, request.most_lost);
    kept = std::move(found.layers);
    trials = found.trials;
  }
  const QuantizedModel model = quantizer.quantized(kept);
  std::vector<LayerError> layers = quantizer.layer_errors(model, kErrorImages);
  if (file.extension() == ".onnx") {
    write_onnx_file(request.model, model.network, model.state, request.crop, file);
  } else {
    write_file(request.model, model.network, inference::packed(model.network, model.state), model.scheme, request.crop,
               file);
  }
  return {quantizer.images(), quantizer.notes(), std::move(layers), trials};
}

}  // namespace

KeptLayers keep_sensitive(const Quantizer& quantizer, const Quality& quality, const std::set<std::string>& kept,
                          double most_lost) {
  KeptLayers found{kept};
  found.float_quality = quality(quantizer.folded(), quantizer.folded_state());
  std::vector<std::string> order;
  const auto with_first = [&](std::size_t count) {
    std::set<std::string> layers = kept;
    layers.insert(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count));
    return layers;
  };
  const auto suffices = [&](std::size_t count) {
    const QuantizedModel model = quantizer.quantized(with_first(count));
    const double reached = quality(model.network, model.state);
    ++found.trials;
    if (reached < found.float_quality - most_lost) return false;
    found.quality = reached;
    found.layers = with_first(count);
    return true;
  };
  if (suffices(0)) return found;
  order = quantizer.by_sensitivity(kSensitivityImages);
  std::size_t too_few = 0, enough = 1;
  while (enough < order.size() && !suffices(enough)) {
    too_few = enough;
    enough = std::min(2 * enough, order.size());
  }
  if (enough == order.size()) {  // all in float
    found.quality = found.float_quality;
    found.layers = with_first(enough);
  }
  while (enough - too_few > 1) {
    const std::size_t middle = (too_few + enough) / 2;
    (suffices(middle) ? enough : too_few) = middle;
  }
  return found;
}

QuantizeOutcome quantize_to_file(const QuantizeRequest& request, const std::filesystem::path& file) {
  return answer_in_child([&] { return quantize_here(request, file); });
}

void pack_to_file(const inference::InferenceModel& model, std::optional<data::CropMode> crop,
                  const std::filesystem::path& file) {
  const network::Network& network = *model.network();
  write_file(model, network, inference::packed(network, *model.state()), *model.quantization(), crop, file);
}

bool is_packed(const std::filesystem::path& file) {
  if (file.extension() != ".safetensors") return false;
  const weights::SafetensorsLayout layout = weights::read_safetensors_layout(file);
  return std::ranges::any_of(layout.tensors, [](const auto& tensor) { return tensor.dtype == DType::kI8; });
}

std::uint64_t float_bytes(const TensorMap& state) {
  std::uint64_t bytes = 0;
  for (const auto& [name, tensor] : state) bytes += tensor.bytes.size();
  return bytes;
}

}  // namespace evener::quantization

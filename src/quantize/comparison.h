// The comparison of a network before and after `evener quantize`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "quantize/figures.h"
#include "quantize/values/quantize.h"
#include "record/record.h"

namespace evener::quantization {

struct QuantizeComparison {
  std::uint64_t float_bytes = 0, file_bytes = 0;
  RunFigures before, after;  // empty where nothing was run
  std::vector<LayerError> layers;
  bool classes_known = true;  // false: the outputs may be no scores of classes, so agreement of the largest output
                              // means little
  std::optional<EngineAgreement> engines;
  std::string no_power;  // why power can't be measured; empty = it can
};

/// A table for people: size, accuracy or precision, latency, speed, memory, energy; the layers with the largest errors.
std::string comparison_text(const QuantizeComparison& comparison);

/// A sentence for a quantised network that is worse than the float one by more than chance and rounding, with both
/// figures and the `remedy`; of images without labels, one that finds something else on a tenth. "" = it is not.
std::string quantization_warning(const QuantizeComparison& comparison, const std::string& remedy);

/// "layer,quantized,sqnr_db" for each layer; a layer without an error has an empty cell.
std::string layers_csv(const std::vector<LayerError>& layers);

/// Adds the same figures to the record, each with that of the float network as "float_...".
void fill_quantize_metrics(const QuantizeComparison& comparison, record::Record& record);

}  // namespace evener::quantization

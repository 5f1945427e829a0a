#include "task/model_metadata.h"

#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "weights/metadata_json.h"

namespace evener::task {

weights::Metadata model_metadata(const ModelFacts& facts) {
  using nlohmann::json;
  weights::Metadata metadata = {{"model", to_utf8_text(facts.model)}, {"input", json(facts.input).dump()}};
  if (!facts.classes.empty()) metadata["classes"] = weights::metadata_text(facts.classes);
  if (!facts.mean.empty()) {
    metadata["mean"] = json(facts.mean).dump();
    metadata["standard_deviation"] = json(facts.standard_deviation).dump();
  }
  return metadata;
}

}  // namespace evener::task

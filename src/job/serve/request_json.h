// The JSON of a request of the Open Inference Protocol, parsed so that hostile texts cost little: the values of tensors
// go straight into plain arrays, and everything else has to be small.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace evener::job {

/// The values under "data" of one input, in order, however they were nested.
struct JsonData {
  std::vector<float> numbers;
  std::vector<std::string> texts;
};

struct RequestJson {
  nlohmann::json rest;         // the request with empty arrays in place of data
  std::vector<JsonData> data;  // of each input
};

/// Throws BadRequest.
RequestJson parse_request_json(std::string_view text);

}  // namespace evener::job

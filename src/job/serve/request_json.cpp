#include "job/serve/request_json.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <limits>

#include "base/names.h"
#include "job/serve/protocol.h"

namespace evener::job {
namespace {

using Json = nlohmann::json;

constexpr int kDeepest = 24;
constexpr std::size_t kMostParts = 1000;  // beside the values of tensors; the parser looks at all of them after each

/// Looks at what the parser meets. Depths are those of {"inputs": [{"data": [...]}]}.
class RequestFilter {
 public:
  explicit RequestFilter(std::vector<JsonData>& data) : data_(data) {}

  /// The parser's callback: returns whether the parsed element is kept.
  bool operator()(int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > kDeepest) throw BadRequest(fmt::format("the JSON is nested more than {} deep", kDeepest));
    using Event = Json::parse_event_t;
    const bool in_data = in_inputs_ && in_data_ && depth > kDepthOfData;
    switch (event) {
      case Event::key:
        if (depth == kDepthOfSections) in_inputs_ = parsed == "inputs";
        if (depth == kDepthOfData) in_data_ = parsed == "data";
        break;
      case Event::object_start:
        if (in_data) throw BadRequest("the data of an input has an object in it; it has to be numbers or texts");
        if (in_inputs_ && depth == kDepthOfInputs) data_.emplace_back();
        break;
      case Event::value:
        if (in_data) {
          take(parsed);
          return false;
        }
        break;
      case Event::array_end:
        if (in_data) return false;
        break;
      default:
        break;
    }
    // Arrays inside data are forgotten as they end, all other things stay.
    if (!in_data && ++parts_ > kMostParts) throw BadRequest("the JSON has too many parts beside the values of tensors");
    return true;
  }

 private:
  static constexpr int kDepthOfSections = 1, kDepthOfInputs = 2, kDepthOfData = 3;

  void take(Json& value) {
    if (data_.empty()) throw BadRequest("\"data\" stands outside of an input");
    if (value.is_string()) {
      data_.back().texts.push_back(std::move(value.get_ref<std::string&>()));
    } else if (value.is_number()) {
      const auto number = value.get<double>();
      if (std::abs(number) > std::numeric_limits<float>::max()) {
        throw BadRequest("a number of the data is too large for a float");
      }
      data_.back().numbers.push_back(static_cast<float>(number));
    } else {
      throw BadRequest("the data of an input has '" + printable(value.dump()) +
                       "' in it; it has to be numbers or texts");
    }
  }

  std::vector<JsonData>& data_;
  bool in_inputs_ = false, in_data_ = false;
  std::size_t parts_ = 0;
};

}  // namespace

RequestJson parse_request_json(std::string_view text) {
  RequestJson request;
  RequestFilter filter(request.data);
  try {
    request.rest = Json::parse(text.begin(), text.end(), [&](int depth, Json::parse_event_t event, Json& parsed) {
      return filter(depth, event, parsed);
    });
  } catch (const Json::exception& error) {
    throw BadRequest(std::string("the request is no JSON: ") + printable(error.what()));
  }
  if (!request.rest.is_object()) throw BadRequest("the request is no JSON object");
  return request;
}

}  // namespace evener::job

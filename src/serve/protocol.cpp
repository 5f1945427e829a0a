#include "serve/protocol.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <limits>
#include <utility>

#include "base/base64.h"
#include "base/names.h"
#include "base/numbers.h"
#include "data/codecs/decode.h"
#include "infer/run/infer.h"

namespace evener::serving {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostExtents = 8;
constexpr std::int64_t kMostElements = std::int64_t{1} << 31;

// The JSON of a request is parsed so that hostile texts cost little: the values of tensors go straight into plain
// arrays, and everything else has to be small.

/// The values under "data" of one input, in order, however they were nested.
struct JsonData {
  std::vector<float> numbers;
  std::vector<std::string> texts;
};

struct RequestJson {
  nlohmann::json rest;         // the request with empty arrays in place of data
  std::vector<JsonData> data;  // of each input
};

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

/// Throws BadRequest.
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

/// Bytes of an element; 0 = they differ from element to element.
std::size_t element_bytes(const std::string& datatype) {
  struct Size {
    const char* name;
    std::size_t bytes;
  };
  constexpr Size kSizes[] = {{"BOOL", 1}, {"UINT8", 1}, {"UINT16", 2}, {"UINT32", 4}, {"UINT64", 8},
                             {"INT8", 1}, {"INT16", 2}, {"INT32", 4},  {"INT64", 8},  {"FP16", 2},
                             {"BF16", 2}, {"FP32", 4},  {"FP64", 8},   {"BYTES", 0}};
  for (const Size& one : kSizes) {
    if (datatype == one.name) return one.bytes;
  }
  throw BadRequest(fmt::format("unknown datatype {}", quoted_text(datatype)));
}

/// The member of an object; a null value where there is none.
const Json& member(const Json& object, const char* key) {
  static const Json none;
  const auto found = object.find(key);
  return found == object.end() ? none : *found;
}

std::string text_of(const Json& object, const char* key, const char* of) {
  const Json& value = member(object, key);
  if (!value.is_string()) throw BadRequest(fmt::format("{} has no text as its \"{}\"", of, key));
  return value.get<std::string>();
}

/// A number from 0 in "parameters"; 0 where there is none.
std::size_t count_parameter(const Json& parameters, const char* key) {
  const Json& value = member(parameters, key);
  if (value.is_null()) return 0;
  if (!value.is_number_unsigned()) throw BadRequest(fmt::format("\"{}\" has to be a whole number from 0", key));
  return value.get<std::size_t>();
}

std::optional<bool> flag_parameter(const Json& parameters, const char* key) {
  const Json& value = member(parameters, key);
  if (value.is_null()) return std::nullopt;
  if (!value.is_boolean()) throw BadRequest(fmt::format("\"{}\" has to be true or false", key));
  return value.get<bool>();
}

const Json& parameters_of(const Json& object) {
  static const Json none = Json::object();
  const Json& parameters = member(object, "parameters");
  if (parameters.is_null()) return none;
  if (!parameters.is_object()) throw BadRequest("\"parameters\" has to be an object");
  return parameters;
}

std::vector<std::int64_t> shape_of(const Json& input, const std::string& name) {
  const Json& extents = member(input, "shape");
  if (!extents.is_array() || extents.size() > kMostExtents) {
    throw BadRequest(fmt::format("input {} has no \"shape\" of at most {} extents", quoted_text(name), kMostExtents));
  }
  std::vector<std::int64_t> shape;
  std::int64_t elements = 1;
  for (const Json& extent : extents) {
    if (!extent.is_number_unsigned() || extent.get<std::uint64_t>() > static_cast<std::uint64_t>(kMostElements)) {
      throw BadRequest(fmt::format("the shape of input {} has the extent {}", quoted_text(name), extent.dump()));
    }
    shape.push_back(extent.get<std::int64_t>());
    if (shape.back() > 0 && elements > kMostElements / shape.back()) {
      throw BadRequest(fmt::format("input {} has more than {} elements", quoted_text(name), kMostElements));
    }
    elements *= shape.back();
  }
  return shape;
}

/// Takes the bytes of the tensor from the beginning of `binary`.
void take_binary(SentTensor& tensor, std::size_t bytes, std::string_view& binary) {
  const std::size_t each = element_bytes(tensor.datatype);
  if (bytes > binary.size()) {
    throw BadRequest(fmt::format("input {} says that it has {} bytes, but only {} follow the JSON",
                                 quoted_text(tensor.name), bytes, binary.size()));
  }
  if (each != 0 && bytes != tensor.elements() * each) {
    throw BadRequest(fmt::format("input {} of shape {} and type {} needs {} bytes, not {}", quoted_text(tensor.name),
                                 shape_text(tensor.shape), tensor.datatype, tensor.elements() * each, bytes));
  }
  tensor.binary = binary.substr(0, bytes);
  binary.remove_prefix(bytes);
}

SentTensor input_of(const Json& from, JsonData& data, std::string_view& binary) {
  if (!from.is_object()) throw BadRequest("an input is no object");
  SentTensor tensor;
  tensor.name = text_of(from, "name", "an input");
  tensor.datatype = text_of(from, "datatype", ("input " + quoted_text(tensor.name)).c_str());
  tensor.shape = shape_of(from, tensor.name);
  element_bytes(tensor.datatype);
  const Json& parameters = parameters_of(from);
  if (parameters.contains("shared_memory_region")) throw BadRequest("shared memory is not taken; send the data");
  if (parameters.contains("binary_data_size")) {
    take_binary(tensor, count_parameter(parameters, "binary_data_size"), binary);
    return tensor;
  }
  tensor.numbers = std::move(data.numbers);
  tensor.texts = std::move(data.texts);
  const std::size_t values = tensor.numbers.size() + tensor.texts.size();
  if (values != tensor.elements()) {
    throw BadRequest(fmt::format("input {} of shape {} needs {} values, but has {}", quoted_text(tensor.name),
                                 shape_text(tensor.shape), tensor.elements(), values));
  }
  if (!(tensor.datatype == "BYTES" ? tensor.numbers.empty() : tensor.texts.empty())) {
    throw BadRequest(fmt::format("input {} is {}, but has {} among its data", quoted_text(tensor.name), tensor.datatype,
                                 tensor.texts.empty() ? "numbers" : "texts"));
  }
  return tensor;
}

WantedOutput output_of(const Json& from, bool usually_binary) {
  if (!from.is_object()) throw BadRequest("an output is no object");
  const Json& parameters = parameters_of(from);
  if (parameters.contains("shared_memory_region")) throw BadRequest("shared memory is not given; take the data");
  return {.name = text_of(from, "name", "an output"),
          .binary = flag_parameter(parameters, "binary_data").value_or(usually_binary),
          .classes = count_parameter(parameters, "classification")};
}

/// The shortest digits that stand for the same float.
void append_number(std::string& text, float number) {
  if (std::isfinite(number)) {
    fmt::format_to(std::back_inserter(text), "{}", number);
  } else {
    text += "null";
  }
}

/// "score:number:name" of each class, as the classification extension has it.
std::vector<std::string> class_texts(const ToldOutput& output, const std::vector<std::string>& names,
                                     std::vector<std::int64_t>& shape) {
  const auto samples = static_cast<std::size_t>(output.values->shape.front());
  const std::size_t each = samples == 0 ? 0 : static_cast<std::size_t>(element_count(output.values->shape)) / samples;
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < samples; ++i) {
    const std::span<const float> scores(output.values->floats() + i * each, each);
    for (const auto& one : inference::top_classes(scores, output.wanted.classes, inference::OutputType::kLogits)) {
      texts.push_back(fmt::format("{}:{}", one.score, one.index));
      if (one.index < names.size()) texts.back() += ":" + names[one.index];
    }
  }
  shape = {static_cast<std::int64_t>(samples), static_cast<std::int64_t>(std::min(each, output.wanted.classes))};
  return texts;
}

std::string as_binary(const std::vector<std::string>& texts) {
  std::string bytes;
  for (const std::string& text : texts) {
    const auto size = static_cast<std::uint32_t>(text.size());
    bytes.append(reinterpret_cast<const char*>(&size), sizeof(size));
    bytes += text;
  }
  return bytes;
}

std::string json_text(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Appends an output's JSON to `json`, and to `binary` what follows it.
void append_output(const ToldOutput& output, const std::vector<std::string>& classes, std::string& json,
                   std::string& binary) {
  const HostTensor& values = *output.values;
  std::vector<std::int64_t> shape = values.shape;
  std::vector<std::string> of_classes;
  const std::vector<std::string>* texts = output.texts;
  if (output.wanted.classes > 0) {
    of_classes = class_texts(output, classes, shape);
    texts = &of_classes;
  }
  const bool is_whole = values.dtype == DType::kI32;
  json += fmt::format(R"({{"name":{},"datatype":"{}","shape":[{}])", json_text(output.wanted.name),
                      texts != nullptr ? "BYTES"
                      : is_whole       ? "INT32"
                                       : "FP32",
                      fmt::join(shape, ","));
  if (output.wanted.binary) {
    const std::size_t before = binary.size();
    texts != nullptr ? binary.append(as_binary(*texts))
                     : binary.append(reinterpret_cast<const char*>(values.bytes.data()), values.bytes.size());
    json += fmt::format(R"(,"parameters":{{"binary_data_size":{}}}}})", binary.size() - before);
    return;
  }
  json += ",\"data\":[";
  const auto count = static_cast<std::size_t>(element_count(shape));
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) json += ',';
    if (texts != nullptr) {
      json += json_text((*texts)[i]);
    } else if (is_whole) {
      json += std::to_string(reinterpret_cast<const std::int32_t*>(values.bytes.data())[i]);
    } else {
      append_number(json, values.floats()[i]);
    }
  }
  json += "]}";
}

std::string taken_text(const ServedModel& model) {
  const std::string tensors = fmt::format("'{}' takes '{}' as {} of shape [N,{}]", model.name, model.input,
                                          model.datatype(), fmt::join(model.shape, ","));
  return model.pictures ? tensors + ", or as BYTES of shape [N]: JPEG, PNG or other image files" : tensors;
}

/// How many samples a tensor of values has. Throws BadRequest where its shape or type is another.
std::size_t samples_in(const SentTensor& tensor, const ServedModel& model) {
  const bool fits = tensor.datatype == model.datatype() && tensor.shape.size() == model.shape.size() + 1 &&
                    std::equal(model.shape.begin(), model.shape.end(), tensor.shape.begin() + 1);
  if (!fits) {
    throw BadRequest(
        fmt::format("{}; this is {} of shape [{}]", taken_text(model), tensor.datatype, fmt::join(tensor.shape, ",")));
  }
  return static_cast<std::size_t>(tensor.shape.front());
}

/// `each` bytes from JSON's numbers.
std::vector<std::uint8_t> bytes_of(const float* numbers, std::size_t each) {
  std::vector<std::uint8_t> bytes(each);
  for (std::size_t i = 0; i < each; ++i) {
    const float number = numbers[i];
    if (!(number >= 0 && number <= 255) || number != std::floor(number)) {
      throw BadRequest(fmt::format("{} is no UINT8: it has to be a whole number from 0 to 255", number));
    }
    bytes[i] = static_cast<std::uint8_t>(number);
  }
  return bytes;
}

SentSample sample_of_values(const SentTensor& tensor, std::size_t index, const ServedModel& model) {
  const auto each = static_cast<std::size_t>(element_count(model.shape));
  SentSample sample;
  if (model.shape.size() == 3) sample.size = {model.shape[2], model.shape[1]};
  if (model.is_bytes && tensor.binary) {
    const auto* const from = reinterpret_cast<const std::uint8_t*>(tensor.binary->data()) + index * each;
    sample.bytes.assign(from, from + each);
  } else if (model.is_bytes) {
    sample.bytes = bytes_of(tensor.numbers.data() + index * each, each);
  } else if (tensor.binary) {
    sample.floats.resize(each);
    std::memcpy(sample.floats.data(), tensor.binary->data() + index * each * sizeof(float), each * sizeof(float));
  } else {
    const float* const from = tensor.numbers.data() + index * each;
    sample.floats.assign(from, from + each);
  }
  return sample;
}

std::vector<SentSample> samples_of_pictures(const SentTensor& tensor, const ServedModel& model) {
  const bool is_list = tensor.shape.size() == 1 || (tensor.shape.size() == 2 && tensor.shape.back() == 1);
  if (!model.pictures || !is_list) {
    throw BadRequest(fmt::format("{}; this is BYTES of shape [{}]", taken_text(model), fmt::join(tensor.shape, ",")));
  }
  std::vector<SentSample> samples;
  for (const std::string& file : elements_of_bytes(tensor)) samples.push_back(sample_of_picture(file, model));
  return samples;
}

}  // namespace

std::optional<std::size_t> parse_length(const std::string& header) {
  if (header.empty()) return std::nullopt;
  if (const auto length = to_number<std::size_t>(header)) return length;
  throw BadRequest(fmt::format("the header Inference-Header-Content-Length is {}; it has to be a number of bytes",
                               quoted_text(header)));
}

InferRequest parse_infer_request(std::string_view body, std::optional<std::size_t> json_bytes) {
  if (json_bytes && *json_bytes > body.size()) {
    throw BadRequest(fmt::format("the JSON is said to have {} bytes, but the body has {}", *json_bytes, body.size()));
  }
  std::string_view binary = body.substr(json_bytes.value_or(body.size()));
  RequestJson json = parse_request_json(body.substr(0, json_bytes.value_or(body.size())));
  InferRequest request;
  if (json.rest.contains("id")) request.id = text_of(json.rest, "id", "the request");
  request.binary_outputs = flag_parameter(parameters_of(json.rest), "binary_data_output").value_or(false);
  const Json& inputs = member(json.rest, "inputs");
  if (!inputs.is_array() || inputs.empty() || inputs.size() != json.data.size()) {
    throw BadRequest("the request has no array of \"inputs\"");
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    request.inputs.push_back(input_of(inputs[i], json.data[i], binary));
  }
  if (!binary.empty()) throw BadRequest(fmt::format("{} bytes follow that belong to no input", binary.size()));
  const Json& outputs = member(json.rest, "outputs");
  if (!outputs.is_null() && !outputs.is_array()) throw BadRequest("\"outputs\" has to be an array");
  for (const Json& output : outputs) request.outputs.push_back(output_of(output, request.binary_outputs));
  return request;
}

std::vector<std::string> elements_of_bytes(const SentTensor& tensor) {
  std::vector<std::string> elements;
  if (!tensor.binary) {
    for (const std::string& text : tensor.texts) {
      auto bytes = from_base64(text);
      if (!bytes) throw BadRequest(fmt::format("a text of input {} is not base64", quoted_text(tensor.name)));
      elements.push_back(*std::move(bytes));
    }
    return elements;
  }
  std::string_view rest = *tensor.binary;
  while (!rest.empty() && elements.size() < tensor.elements()) {
    std::uint32_t size = 0;
    if (rest.size() >= sizeof(size)) std::memcpy(&size, rest.data(), sizeof(size));
    if (rest.size() < sizeof(size) || size > rest.size() - sizeof(size)) {
      throw BadRequest(fmt::format("an element of input {} is cut short", quoted_text(tensor.name)));
    }
    elements.emplace_back(rest.substr(sizeof(size), size));
    rest.remove_prefix(sizeof(size) + size);
  }
  if (!rest.empty() || elements.size() != tensor.elements()) {
    throw BadRequest(fmt::format("input {} of shape {} has {} elements", quoted_text(tensor.name),
                                 shape_text(tensor.shape), rest.empty() ? "fewer" : "more"));
  }
  return elements;
}

InferAnswer write_infer_answer(const std::string& model, const std::string& id, const std::vector<ToldOutput>& outputs,
                               const std::vector<std::string>& classes) {
  InferAnswer answer;
  std::string binary;
  answer.body = fmt::format(R"({{"model_name":{},"model_version":"1",)", json_text(model));
  if (!id.empty()) answer.body += fmt::format("\"id\":{},", json_text(id));
  answer.body += "\"outputs\":[";
  bool has_binary = false;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (i > 0) answer.body += ',';
    append_output(outputs[i], classes, answer.body, binary);
    has_binary = has_binary || outputs[i].wanted.binary;
  }
  answer.body += "]}";
  if (has_binary) answer.json_bytes = answer.body.size();
  answer.body += binary;
  return answer;
}

std::vector<SentSample> samples_of(const InferRequest& request, const ServedModel& model) {
  if (request.inputs.size() != 1 || request.inputs.front().name != model.input) {
    throw BadRequest(taken_text(model) + ", and nothing else");
  }
  const SentTensor& tensor = request.inputs.front();
  std::vector<SentSample> samples;
  if (tensor.datatype == "BYTES") {
    samples = samples_of_pictures(tensor, model);
  } else {
    const std::size_t count = samples_in(tensor, model);
    for (std::size_t i = 0; i < count; ++i) samples.push_back(sample_of_values(tensor, i, model));
  }
  if (samples.empty()) throw BadRequest("the request has no samples");
  return samples;
}

SentSample sample_of_picture(const std::string& file, const ServedModel& model) {
  if (!model.pictures) throw BadRequest(taken_text(model) + "; it takes no pictures");
  SentSample sample;
  sample.bytes.resize(static_cast<std::size_t>(element_count(model.shape)));
  try {
    data::Picture picture = data::decode_picture(file);
    sample.size = {picture.width, picture.height};
    data::preprocess(std::move(picture), *model.pictures, sample.bytes);
  } catch (const Error& error) {
    throw BadRequest(fmt::format("a picture can't be read: {}", error.what()));
  }
  if (model.is_bytes) return sample;
  sample.floats.assign(sample.bytes.begin(), sample.bytes.end());
  sample.bytes.clear();
  return sample;
}

SentSample sample_of_raw(const std::string& body, const ServedModel& model) {
  const bool fits = body.size() == model.sample_bytes();
  if (model.pictures && data::unknown_format(body).empty()) {
    try {
      return sample_of_picture(body, model);
    } catch (const BadRequest&) {
      if (!fits) throw;  // otherwise values that begin as pictures do
    }
  }
  if (fits) {
    SentTensor tensor;
    tensor.binary = body;
    return sample_of_values(tensor, 0, model);
  }
  throw BadRequest(fmt::format(
      "{}; a raw request (Inference-Header-Content-Length: 0) is the {} bytes of one sample{}, and this has {}",
      taken_text(model), model.sample_bytes(), model.pictures ? ", or a picture" : "", body.size()));
}

std::vector<WantedOutput> wanted_outputs(const InferRequest& request, const ServedModel& model) {
  std::vector<WantedOutput> wanted = request.outputs;
  if (wanted.empty()) {
    for (const ServedOutput& output : model.outputs) {
      if (output.is_usual) wanted.push_back({.name = output.name, .binary = request.binary_outputs});
    }
  }
  std::vector<std::string> known;
  for (const ServedOutput& output : model.outputs) known.push_back(output.name);
  for (const WantedOutput& one : wanted) {
    if (std::ranges::find(known, one.name) == known.end()) {
      throw BadRequest(unknown_name_message("output", printable(one.name), known));
    }
  }
  return wanted;
}

}  // namespace evener::serving

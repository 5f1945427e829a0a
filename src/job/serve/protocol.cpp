#include "job/serve/protocol.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/base64.h"
#include "base/names.h"
#include "base/numbers.h"
#include "job/serve/request_json.h"
#include "task/inference/infer.h"

namespace evener::job {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostExtents = 8;
constexpr std::int64_t kMostElements = std::int64_t{1} << 31;

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
    for (const auto& one : task::top_classes(scores, output.wanted.classes, task::OutputType::kLogits)) {
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
  const bool classifies = output.wanted.classes > 0;
  std::vector<std::int64_t> shape = output.values->shape;
  const std::vector<std::string> texts = classifies ? class_texts(output, classes, shape) : std::vector<std::string>();
  json += fmt::format(R"({{"name":{},"datatype":"{}","shape":[{}])", json_text(output.wanted.name),
                      classifies ? "BYTES" : "FP32", fmt::join(shape, ","));
  const auto values = static_cast<std::size_t>(element_count(output.values->shape));
  if (output.wanted.binary) {
    const std::size_t before = binary.size();
    classifies ? binary.append(as_binary(texts))
               : binary.append(reinterpret_cast<const char*>(output.values->floats()), values * sizeof(float));
    json += fmt::format(R"(,"parameters":{{"binary_data_size":{}}}}})", binary.size() - before);
    return;
  }
  json += ",\"data\":[";
  const std::size_t count = classifies ? texts.size() : values;
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) json += ',';
    if (classifies) {
      json += json_text(texts[i]);
    } else {
      append_number(json, output.values->floats()[i]);
    }
  }
  json += "]}";
}

}  // namespace

std::size_t SentTensor::elements() const {
  return static_cast<std::size_t>(element_count(shape));
}

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

}  // namespace evener::job

#include "serve/inference_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/memory.h"
#include "base/names.h"
#include "base/numbers.h"
#include "base/version.h"
#include "data/codecs/decode.h"
#include "serve/box_outputs.h"

namespace evener::serving {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr const char* kJsonLength = "Inference-Header-Content-Length";
constexpr const char* kJsonLengthInLowerCase = "inference-header-content-length";

HttpResponse json_response(const OrderedJson& body) {
  return {.body = body.dump(-1, ' ', false, OrderedJson::error_handler_t::replace)};
}

/// Removes and returns the path's text up to the next '/'; "" at the end.
std::string_view next_word(std::string_view& path) {
  const std::size_t end = std::min(path.find('/'), path.size());
  const std::string_view word = path.substr(0, end);
  path.remove_prefix(std::min(end + 1, path.size()));
  return word;
}

/// ?classification=5 of a picture's address; 0 = all values.
std::size_t classes_asked_for(const HttpRequest& request) {
  const auto found = request.query.find("classification");
  if (found == request.query.end()) return 0;
  if (const auto classes = to_number<std::size_t>(found->second)) return *classes;
  throw BadRequest(fmt::format("classification={} has to be a number of classes", printable(found->second)));
}

constexpr const char* kSendPictures = "a picture is sent by curl --data-binary @cat.jpg -H 'Content-Type: image/jpeg'";
constexpr const char* kForm = "application/x-www-form-urlencoded";  // what curl says of all that it posts

/// "image/jpeg" of "Image/JPEG; q=1": media types have no case.
std::string media_type(const HttpRequest& request) {
  const std::string& header = request.header("content-type");
  std::string type(trimmed(std::string_view(header).substr(0, header.find(';'))));
  std::ranges::transform(type, type.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return type;
}

/// Whether the body is a picture, whatever its type says, as clients that aren't told a type send one of their own.
/// Throws BadRequest where it is neither a picture nor can be JSON.
bool is_picture(const HttpRequest& request) {
  if (request.body.empty()) throw BadRequest(fmt::format("the body of the request is empty; {}", kSendPictures));
  if (!request.header(kJsonLengthInLowerCase).empty()) return false;
  if (media_type(request).starts_with("image/")) return true;
  const std::string refusal = data::unknown_format(request.body);
  if (refusal.empty()) return true;
  const std::size_t first = request.body.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && (request.body[first] == '{' || request.body[first] == '[')) return false;
  throw BadRequest(fmt::format(
      "the request is no JSON, and no picture: {}; {}, and the bytes of a sample's values alone with -H '{}: 0'",
      refusal, kSendPictures, kJsonLength));
}

SentSample sample_of_body(const HttpRequest& request, const ServedModel& model) {
  try {
    return sample_of_picture(request.body, model);
  } catch (const BadRequest& error) {
    if (media_type(request) != kForm) throw;
    throw BadRequest(fmt::format("{}; curl's -d leaves bytes out: {}", error.what(), kSendPictures));
  }
}

constexpr double kSeconds[] = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};
constexpr double kSamples[] = {1, 2, 4, 8, 16, 32, 64, 128, 256};

std::string head_text(const std::string& name, const char* type, const std::string& help) {
  return fmt::format("# HELP {0} {2}\n# TYPE {0} {1}\n", name, type, help);
}

std::string value_text(const std::string& name, const char* type, const std::string& help, std::uint64_t value) {
  return head_text(name, type, help) + fmt::format("{} {}\n", name, value);
}

}  // namespace

InferenceApi::InferenceApi(const ServedModel& model, BatchQueue& queue, ServeMetrics& metrics, int readers,
                           double limit_s)
    : model_(model), queue_(queue), metrics_(metrics), readers_(readers), limit_s_(limit_s) {}

HttpResponse InferenceApi::answer(HttpRequest& request, const HttpCounts& http) {
  std::string_view path = request.path;
  path.remove_prefix(path.starts_with('/') ? 1 : 0);
  const std::string_view first = next_word(path);
  if (first == "metrics" && path.empty()) {
    return {.content_type = "text/plain; version=0.0.4", .body = metrics_.text(queue_, http)};
  }
  if (first.empty()) return server_facts();
  if (first != "v2") return http_error(404, "unknown address; there are " + addresses_text());
  if (path.empty()) return server_facts();
  if (path == "health/live") return json_response({{"live", true}});
  if (path == "health/ready") return draining_ ? try_later("the server is ending") : json_response({{"ready", true}});
  if (next_word(path) == "models") return about_model(path, request);
  return http_error(404, "unknown address; there are " + addresses_text());
}

HttpResponse InferenceApi::about_model(std::string_view path, HttpRequest& request) {
  const std::string_view name = next_word(path);
  if (name != model_.name) {
    return http_error(404, fmt::format("unknown model {}; this server has '{}'", quoted_text(name), model_.name));
  }
  std::string_view word = next_word(path);
  if (word == "versions") {
    const std::string_view version = next_word(path);
    if (version != "1") {
      return http_error(404, fmt::format("'{}' has version 1, not {}", model_.name, quoted_text(version)));
    }
    word = next_word(path);
  }
  if (!path.empty()) return http_error(404, "unknown address below the model's");
  if (word.empty()) return model_facts();
  if (word == "ready") {
    return draining_ ? try_later("the server is ending") : json_response({{"name", model_.name}, {"ready", true}});
  }
  if (word != "infer") return http_error(404, fmt::format("a model has /ready and /infer, not {}", quoted_text(word)));
  if (request.method == "POST") return infer(request);
  HttpResponse response = http_error(405, "send the request for an answer with POST");
  response.headers.emplace_back("Allow", "POST");
  return response;
}

std::vector<std::string> InferenceApi::addresses() const {
  const std::string model = "/v2/models/" + model_.name;
  return {"/v2", "/v2/health/live", "/v2/health/ready", model, model + "/ready", model + "/infer", "/metrics"};
}

std::string InferenceApi::addresses_text() const {
  return fmt::format("{}", fmt::join(addresses(), ", "));
}

HttpResponse InferenceApi::server_facts() const {
  return json_response({{"name", "evener"},
                        {"version", program_version()},
                        {"extensions", {"binary_tensor_data", "classification"}},
                        {"addresses", addresses()}});
}

HttpResponse InferenceApi::model_facts() const {
  const auto batch_of = [](const std::vector<std::int64_t>& sample) {
    std::vector<std::int64_t> shape = {-1};
    shape.insert(shape.end(), sample.begin(), sample.end());
    return shape;
  };
  OrderedJson outputs = OrderedJson::array();
  for (const ServedOutput& output : model_.outputs) {
    outputs.push_back({{"name", output.name}, {"datatype", output.datatype}, {"shape", batch_of(output.shape)}});
  }
  const OrderedJson input = {
      {"name", model_.input}, {"datatype", model_.datatype()}, {"shape", batch_of(model_.shape)}};
  return json_response({{"name", model_.name},
                        {"versions", {"1"}},
                        {"platform", model_.platform},
                        {"inputs", OrderedJson::array({input})},
                        {"outputs", outputs}});
}

HttpResponse InferenceApi::infer(HttpRequest& request) {
  const Stopwatch clock;
  HttpResponse response;
  try {
    response = infer_unguarded(request);
  } catch (const BadRequest& error) {
    response = http_error(400, error.what());
  } catch (const QueueFull& error) {
    response = try_later(error.what());
  } catch (const AnswerTooLate& error) {
    response = http_error(504, error.what());
  } catch (const Error& error) {
    response = http_error(500, error.what());
  }
  metrics_.add_request(response.status, clock.seconds());
  return response;
}

HttpResponse InferenceApi::infer_unguarded(HttpRequest& request) {
  std::vector<SentSample> samples;
  const InferRequest asked = read(request, samples);
  const std::vector<WantedOutput> wanted = wanted_outputs(asked, model_);
  const bool wants_classes = std::ranges::any_of(wanted, [](const WantedOutput& output) { return output.classes > 0; });
  if (wants_classes && !model_.no_classes.empty()) throw BadRequest(model_.no_classes);
  if (const std::size_t most = queue_.options().capacity; samples.size() > most) {
    throw BadRequest(
        fmt::format("{} samples are more than the queue holds; send at most {} at once", samples.size(), most));
  }
  request.body = {};
  std::vector<detection::PhotoSize> sizes;
  for (const SentSample& sample : samples) sizes.push_back(sample.size);
  const TensorMap outputs = queue_.answer({std::make_move_iterator(samples.begin()),  // without the sizes
                                           std::make_move_iterator(samples.end())},
                                          limit_s_);
  ServedBoxes boxes;
  if (model_.detector) boxes = served_boxes(*model_.detector, outputs, sizes, model_.pictures.value());
  std::vector<ToldOutput> told;
  for (const WantedOutput& output : wanted) {
    told.push_back(model_.detector ? boxes.told(output) : ToldOutput{output});
    if (told.back().values == nullptr) told.back().values = &outputs.at(output.name);
  }
  InferAnswer answer = write_infer_answer(model_.name, asked.id, told, model_.classes);
  HttpResponse response{.body = std::move(answer.body)};
  if (answer.json_bytes) {
    response.content_type = "application/octet-stream";
    response.headers.emplace_back(kJsonLength, std::to_string(*answer.json_bytes));
  }
  return response;
}

InferRequest InferenceApi::read(HttpRequest& request, std::vector<SentSample>& samples) {
  const std::scoped_lock reading(readers_);
  const std::optional<std::size_t> json_bytes = parse_length(request.header(kJsonLengthInLowerCase));
  InferRequest asked;
  if (json_bytes == 0) {
    asked.binary_outputs = true;  // of all outputs, as in Triton's server
    if (const std::size_t classes = classes_asked_for(request)) {
      asked.outputs = {{.name = model_.outputs.front().name, .binary = true, .classes = classes}};
    }
    samples.push_back(sample_of_raw(request.body, model_));
    return asked;
  }
  if (is_picture(request)) {
    const std::size_t classes = classes_asked_for(request);
    if (!model_.detector || classes > 0) asked.outputs = {{.name = model_.outputs.front().name, .classes = classes}};
    if (model_.tells_unknown) asked.outputs.push_back({.name = inference::kUnknownOutput});
    samples.push_back(sample_of_body(request, model_));
    return asked;
  }
  if (classes_asked_for(request) > 0) {
    throw BadRequest("?classification is for pictures; of a tensor it stands in the \"parameters\" of an output");
  }
  asked = parse_infer_request(request.body, json_bytes);
  samples = samples_of(asked, model_);
  asked.inputs.clear();  // they point to the body, and JSON's numbers take memory
  return asked;
}

std::string Histogram::text(const std::string& name, const std::string& help) const {
  std::string text = head_text(name, "histogram", help);
  const std::lock_guard lock(mutex_);
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < bounds_.size(); ++i) {
    count += counts_[i];
    text += fmt::format("{}_bucket{{le=\"{}\"}} {}\n", name, bounds_[i], count);
  }
  count += counts_[bounds_.size()];
  return text + fmt::format("{0}_bucket{{le=\"+Inf\"}} {1}\n{0}_sum {2}\n{0}_count {1}\n", name, count, sum_);
}

ServeMetrics::ServeMetrics(std::function<std::optional<double>()> joules)
    : joules_(std::move(joules)),
      request_s_(kSeconds),
      wait_s_(kSeconds),
      compute_s_(kSeconds),
      batch_samples_(kSamples) {}

std::uint64_t ServeMetrics::requests() const {
  const std::lock_guard lock(mutex_);
  return std::accumulate(requests_.begin(), requests_.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const auto& one) { return sum + one.second; });
}

std::string ServeMetrics::text(const BatchQueue& queue, const HttpCounts& http) const {
  std::string text = head_text("evener_requests_total", "counter", "Requests for answers, by status.");
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [status, count] : requests_) {
      text += fmt::format("evener_requests_total{{status=\"{}\"}} {}\n", status, count);
    }
  }
  text += value_text("evener_samples_total", "counter", "Samples that were computed.", samples_);
  text += value_text("evener_batches_total", "counter", "Calls of the network.", batches_);
  text += value_text("evener_queue_samples", "gauge", "Samples that wait for a lane.", queue.waiting());
  text += value_text("evener_queue_capacity_samples", "gauge", "Samples that may wait.", queue.options().capacity);
  text += value_text("evener_connections", "gauge", "Open connections.", http.open);
  text += value_text("evener_connections_total", "counter", "Connections that were answered.", http.connections);
  text += value_text("evener_body_bytes", "gauge", "Memory promised to requests under way.", http.bodies_bytes);
  text += value_text("process_resident_memory_bytes", "gauge", "Resident memory.", process_memory().resident_bytes);
  if (const auto joules = joules_ ? joules_() : std::nullopt) {
    text += head_text("evener_energy_joules_total", "counter", "Of the machine, idle power included.") +
            fmt::format("evener_energy_joules_total {}\n", *joules);
  }
  text += request_s_.text("evener_request_seconds", "From a whole request to its answer.");
  text += wait_s_.text("evener_queue_seconds", "Waiting for a lane: the longest of each call.");
  text += compute_s_.text("evener_compute_seconds", "A call of the network.");
  text += batch_samples_.text("evener_batch_samples", "Samples of a call.");
  return text;
}

}  // namespace evener::serving

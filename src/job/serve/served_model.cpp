#include "job/serve/served_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/names.h"
#include "data/codecs/decode.h"

namespace evener::job {
namespace {

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

task::SampleValues sample_of_values(const SentTensor& tensor, std::size_t index, const ServedModel& model) {
  const auto each = static_cast<std::size_t>(element_count(model.shape));
  task::SampleValues sample;
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

std::vector<task::SampleValues> samples_of_pictures(const SentTensor& tensor, const ServedModel& model) {
  const bool is_list = tensor.shape.size() == 1 || (tensor.shape.size() == 2 && tensor.shape.back() == 1);
  if (!model.pictures || !is_list) {
    throw BadRequest(fmt::format("{}; this is BYTES of shape [{}]", taken_text(model), fmt::join(tensor.shape, ",")));
  }
  std::vector<task::SampleValues> samples;
  for (const std::string& file : elements_of_bytes(tensor)) samples.push_back(sample_of_picture(file, model));
  return samples;
}

}  // namespace

std::vector<task::SampleValues> samples_of(const InferRequest& request, const ServedModel& model) {
  if (request.inputs.size() != 1 || request.inputs.front().name != model.input) {
    throw BadRequest(taken_text(model) + ", and nothing else");
  }
  const SentTensor& tensor = request.inputs.front();
  std::vector<task::SampleValues> samples;
  if (tensor.datatype == "BYTES") {
    samples = samples_of_pictures(tensor, model);
  } else {
    const std::size_t count = samples_in(tensor, model);
    for (std::size_t i = 0; i < count; ++i) samples.push_back(sample_of_values(tensor, i, model));
  }
  if (samples.empty()) throw BadRequest("the request has no samples");
  return samples;
}

task::SampleValues sample_of_picture(const std::string& file, const ServedModel& model) {
  if (!model.pictures) throw BadRequest(taken_text(model) + "; it takes no pictures");
  task::SampleValues sample;
  sample.bytes.resize(static_cast<std::size_t>(element_count(model.shape)));
  try {
    data::preprocess(data::decode_picture(file), *model.pictures, sample.bytes);
  } catch (const Error& error) {
    throw BadRequest(fmt::format("a picture can't be read: {}", error.what()));
  }
  if (model.is_bytes) return sample;
  sample.floats.assign(sample.bytes.begin(), sample.bytes.end());
  sample.bytes.clear();
  return sample;
}

std::vector<WantedOutput> wanted_outputs(const InferRequest& request, const ServedModel& model) {
  std::vector<WantedOutput> wanted = request.outputs;
  if (wanted.empty()) {
    for (const ServedOutput& output : model.outputs) {
      wanted.push_back({.name = output.name, .binary = request.binary_outputs});
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

}  // namespace evener::job

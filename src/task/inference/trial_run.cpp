#include "task/inference/trial_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/forked.h"
#include "engine/engine.h"
#include "engine/runner.h"

namespace evener::task {
namespace {

void put(std::string& text, const void* values, std::size_t bytes) {
  text.append(static_cast<const char*>(values), bytes);
}

void put_number(std::string& text, std::int64_t number) {
  put(text, &number, sizeof number);
}

/// Plain memory, as the numbers of a detector's outputs go into the millions.
std::string packed_outputs(const TensorMap& outputs) {
  std::string text;
  for (const auto& [name, output] : outputs) {
    put_number(text, std::ssize(name));
    text += name;
    put_number(text, std::ssize(output.shape));
    for (const std::int64_t extent : output.shape) put_number(text, extent);
    put_number(text, std::ssize(output.bytes));
    put(text, output.bytes.data(), output.bytes.size());
  }
  return text;
}

class OutputReader {
 public:
  explicit OutputReader(const std::string& text) : text_(text) {}
  bool is_at_end() const { return at_ == text_.size(); }

  const char* take(std::size_t bytes) {
    if (bytes > text_.size() - at_) throw Error("the answer of a child process is cut short");
    at_ += bytes;
    return text_.data() + at_ - bytes;
  }
  std::int64_t number() {
    std::int64_t value = 0;
    std::memcpy(&value, take(sizeof value), sizeof value);
    return value;
  }

 private:
  const std::string& text_;
  std::size_t at_ = 0;
};

TensorMap unpacked_outputs(const std::string& text) {
  OutputReader reader(text);
  TensorMap outputs;
  while (!reader.is_at_end()) {
    const auto length = static_cast<std::size_t>(reader.number());
    HostTensor& output = outputs[std::string(reader.take(length), length)];
    output.shape.resize(static_cast<std::size_t>(reader.number()));
    for (std::int64_t& extent : output.shape) extent = reader.number();
    output.bytes.resize(static_cast<std::size_t>(reader.number()));
    if (!output.bytes.empty()) std::memcpy(output.bytes.data(), reader.take(output.bytes.size()), output.bytes.size());
  }
  return outputs;
}

}  // namespace

TensorMap trial_run(const engine::ModelFile& file, engine::ModelInput input, std::int64_t batch) {
  if (input.is_image && input.channels == engine::ChannelPlace::kLast) {
    std::rotate(input.shape.begin(), input.shape.begin() + 1, input.shape.end());
  }
  input.is_image = false;  // values go in as they are
  engine::RunnerOptions options;
  options.batch = batch;
  options.values = engine::ImageValues::kFloats;
  TensorMap outputs = unpacked_outputs(in_child([&] {
    const auto runner = std::move(file.make_runners(input, options, 1).front());
    constexpr float kGrey = 0.5F;
    const std::vector<float> image(static_cast<std::size_t>(batch * element_count(input.shape)), kGrey);
    runner->start(std::span<const float>(image));
    return packed_outputs(runner->wait());
  }));
  for (auto& [name, output] : outputs) {
    if (output.shape.empty()) continue;
    const std::int64_t images = output.shape.front();
    output.shape.erase(output.shape.begin());
    if (images > 1) output.bytes.resize(output.bytes.size() / static_cast<std::size_t>(images));
  }
  return outputs;
}

std::string outputs_text(const TensorMap& outputs) {
  std::string text;
  for (const auto& [name, values] : outputs) {
    text += fmt::format("{}'{}' of shape ({})", text.empty() ? "" : ", ", name, fmt::join(values.shape, ", "));
  }
  return text;
}

void require_opens(const std::string& path) {
  constexpr double kLimit_s = 300;
  if (const std::string failure = ask_program({kModelFileQuestion, path}, kLimit_s); !failure.empty()) {
    throw Error(failure);
  }
}

std::string model_file_failure(const std::string& path) {
  try {
    const auto engine = engine::open_engine("openvino");
    const auto file = engine->open_model_file(path);
    const std::vector<std::int64_t>& shape = file->inputs().front().shape;
    if (shape.empty() || std::ranges::any_of(shape, [](std::int64_t extent) { return extent < 1; })) return "";
    engine::RunnerOptions options;
    options.batch = shape.front();
    options.values = engine::ImageValues::kFloats;
    engine::ModelInput input{{shape.begin() + 1, shape.end()}};
    input.is_image = false;
    const auto runner = std::move(file->make_runners(input, options, 1).front());
    const std::vector<float> zeros(static_cast<std::size_t>(element_count(shape)));
    runner->start(std::span(zeros));
    runner->wait();
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace evener::task

#include "infer/model/trial_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/forked.h"
#include "engine/engine.h"
#include "engine/runner.h"

namespace evener::inference {
namespace {

/// The outputs of a network fed with the same value everywhere, which goes in as it is.
TensorMap outputs_for(const engine::ModelFile& file, engine::ModelInput input, std::int64_t batch, float value) {
  input.is_image = false;
  engine::RunnerOptions options;
  options.batch = batch;
  options.values = engine::ImageValues::kFloats;
  const auto runner = std::move(file.make_runners(input, options, 1).front());
  const std::vector<float> values(static_cast<std::size_t>(batch * element_count(input.shape)), value);
  runner->start(std::span(values));
  return runner->wait();
}

}  // namespace

TensorMap trial_run(const engine::ModelFile& file, engine::ModelInput input, std::int64_t batch, float grey) {
  if (input.is_image && input.channels == engine::ChannelPlace::kLast) {
    std::rotate(input.shape.begin(), input.shape.begin() + 1, input.shape.end());
  }
  // Bytes as a text, as the numbers of a detector's outputs go into the millions.
  using Packed = std::map<std::string, std::tuple<std::vector<std::int64_t>, std::string>>;
  const Packed answer = answer_in_child([&] {
    Packed packed;
    for (const auto& [name, output] : outputs_for(file, input, batch, grey)) {
      packed[name] = {output.shape, {reinterpret_cast<const char*>(output.bytes.data()), output.bytes.size()}};
    }
    return packed;
  });
  TensorMap outputs;
  for (const auto& [name, both] : answer) {
    const auto& [shape, bytes] = both;
    HostTensor& output = outputs[name];
    // Of the first image alone.
    output.shape.assign(shape.begin() + (shape.empty() ? 0 : 1), shape.end());
    const auto images = static_cast<std::size_t>(shape.empty() ? 1 : std::max<std::int64_t>(1, shape.front()));
    output.bytes.resize(bytes.size() / images);
    if (!output.bytes.empty()) std::memcpy(output.bytes.data(), bytes.data(), output.bytes.size());
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
    outputs_for(*file, {{shape.begin() + 1, shape.end()}}, shape.front(), 0);
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace evener::inference

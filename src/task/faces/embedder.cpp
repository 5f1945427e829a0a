#include "task/faces/embedder.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "base/tensor.h"
#include "task/faces/part_network.h"
#include "task/inference/trained_model.h"

namespace evener::task {
namespace {

struct KnownEmbedder {
  const char* name;
  FaceCut cut;
};
constexpr KnownEmbedder kEmbedders[] = {{"inception_resnet_v1", FaceCut::kBox}, {"mobilefacenet", FaceCut::kUpright}};
constexpr std::int64_t kUprightHeight = 112;  // of ArcFace's networks and its followers, which all see upright faces

std::string shapes_text(const TensorMap& outputs) {
  std::string text;
  for (const auto& [name, values] : outputs) {
    text += fmt::format("{}'{}' of shape ({})", text.empty() ? "" : ", ", name, fmt::join(values.shape, ", "));
  }
  return text;
}

/// The output that has a vector of each face: (N, D), maybe with extents of 1 behind. The main one, if there are more.
std::string vectors_among(const TensorMap& outputs, const std::string& main, std::int64_t batch) {
  const auto is_vectors = [&](const HostTensor& values) {
    return values.shape.size() >= 2 && values.shape[0] == batch && values.shape[1] > 1 &&
           std::all_of(values.shape.begin() + 2, values.shape.end(), [](std::int64_t extent) { return extent == 1; });
  };
  if (const auto found = outputs.find(main); found != outputs.end() && is_vectors(found->second)) return main;
  for (const auto& [name, values] : outputs) {
    if (is_vectors(values)) return name;
  }
  return {};
}

}  // namespace

void check_embedder(const std::string& name) {
  if (is_foreign_model(name)) return;
  std::vector<std::string> known;
  for (const KnownEmbedder& embedder : kEmbedders) known.emplace_back(embedder.name);
  if (std::ranges::find(known, name) != known.end()) return;
  known.emplace_back("FILE.onnx");
  throw UsageError(unknown_name_message("embedder", name, known));
}

FaceEmbedder::FaceEmbedder(engine::Engine& engine, const EmbedderRequest& request, engine::RunnerOptions options,
                           int lanes) {
  check_embedder(request.name);
  options.batch = static_cast<std::int64_t>(batch_);
  if (is_foreign_model(request.name)) {
    take_file(engine, request, std::move(options), lanes);
  } else {
    take_ours(engine, request, std::move(options), lanes);
  }
}

void FaceEmbedder::take_ours(engine::Engine& engine, const EmbedderRequest& request, engine::RunnerOptions options,
                             int lanes) {
  const TrainedModel embedder =
      // Trained with a layer for the persons of its data, which embeddings don't need.
      open_trained_model({.model = request.name, .weights = request.weights, .passed_over = "logits."});
  notes_ = embedder.notes;
  const auto& shape = embedder.network.input_shape();
  shape_ = {shape[0], shape[1], shape[2]};
  const auto* const known = std::ranges::find(kEmbedders, request.name, &KnownEmbedder::name);
  cut_ = request.cut.value_or(known->cut);
  output_ = embedder.network.outputs().front().name;
  set_face_normalization(options);
  runners_ = engine.make_runners(embedder.network, embedder.state, options, lanes);
}

void FaceEmbedder::take_file(engine::Engine& engine, const EmbedderRequest& request, engine::RunnerOptions options,
                             int lanes) {
  InferenceRequest asked = request.file;
  asked.model.model = request.name;
  asked.model.weights = request.weights;
  asked.tells_classes = false;
  asked.usual_normalization = "0.5/0.5";  // what most networks for faces were trained with
  file_ = std::make_unique<InferenceModel>(asked);
  const std::vector<std::int64_t>& shape = file_->input_shape();
  if (!file_->takes_images() || shape[0] != 3) {
    throw Error(fmt::format("'{}' takes inputs of shape ({}), not colour images: it can't embed faces", request.name,
                            fmt::join(shape, ", ")));
  }
  if (const std::string refusal = file_->refusal(engine, options); !refusal.empty()) {
    throw UsageError(refusal + ", on the CPU");
  }
  notes_ = file_->notes();
  shape_ = {shape[0], shape[1], shape[2]};
  cut_ = request.cut.value_or(shape_.height == kUprightHeight ? FaceCut::kUpright : FaceCut::kBox);
  batch_ = static_cast<std::size_t>(file_->fixed_batch().value_or(options.batch));
  options.batch = static_cast<std::int64_t>(batch_);
  runners_ = file_->make_runners(engine, shape, options, lanes);
  const std::vector<std::uint8_t> nothing(batch_ * shape_.bytes());
  runners_.front()->start(std::span<const std::uint8_t>(nothing));
  const TensorMap outputs = runners_.front()->wait();
  output_ = vectors_among(outputs, file_->main_output(), options.batch);
  if (output_.empty()) {
    throw Error(fmt::format(
        "'{}' gives {} of {} faces, and no vector of each, which would be of shape ({}, D): it is no network "
        "that embeds faces, or the end of one is missing",
        request.name, shapes_text(outputs), batch_, batch_));
  }
  if (outputs.size() > 1) {
    notes_.push_back(fmt::format("'{}' gives {}; '{}' is taken", request.name, shapes_text(outputs), output_));
  }
}

std::vector<std::vector<float>> FaceEmbedder::embed(const std::vector<std::span<const std::uint8_t>>& faces, int lane) {
  engine::Runner& runner = *runners_[static_cast<std::size_t>(lane)];
  std::vector<std::uint8_t> images(batch_ * shape_.bytes());
  for (std::size_t i = 0; i < faces.size(); ++i) {
    std::ranges::copy(faces[i], images.begin() + static_cast<std::ptrdiff_t>(i * shape_.bytes()));
  }
  runner.start(std::span<const std::uint8_t>(images));
  const TensorMap outputs = runner.wait();
  const HostTensor& vectors = outputs.at(output_);
  const auto dimensions = static_cast<std::size_t>(element_count(vectors.shape) / vectors.shape.front());
  std::vector<std::vector<float>> rows;
  for (std::size_t i = 0; i < faces.size(); ++i) {
    const float* const row = vectors.floats() + i * dimensions;
    rows.emplace_back(row, row + dimensions);
  }
  return rows;
}

}  // namespace evener::task

#include "faces/photos/embedder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "base/tensor.h"
#include "data/resize.h"
#include "faces/find/mtcnn.h"
#include "infer/model/trained_model.h"
#include "infer/model/trial_run.h"

namespace evener::faces {
namespace {

constexpr std::int64_t kChannels = 3;

/// In 96 x 112 pixels (Liu et al., SphereFace, 2017).
constexpr std::array<Point, 5> kAligned = {
    {{30.2946F, 51.6963F}, {65.5318F, 51.5014F}, {48.0252F, 71.7366F}, {33.5493F, 92.3655F}, {62.7299F, 92.2041F}}};
constexpr double kAlignedWidth = 96, kAlignedHeight = 112;

/// The value of a channel between pixels; beside the photo 0.
double value_at(const data::Picture& photo, double x, double y, std::int64_t channel) {
  const double left = std::floor(x), top = std::floor(y);
  const auto pixel = [&](double px, double py) -> double {
    const auto column = static_cast<std::int64_t>(px), row = static_cast<std::int64_t>(py);
    if (column < 0 || row < 0 || column >= photo.width || row >= photo.height) return 0;
    return photo.row(row)[column * photo.channels + std::min(channel, photo.channels - 1)];
  };
  const double right_share = x - left, lower_share = y - top;
  const double upper = pixel(left, top) * (1 - right_share) + pixel(left + 1, top) * right_share;
  const double lower = pixel(left, top + 1) * (1 - right_share) + pixel(left + 1, top + 1) * right_share;
  return upper * (1 - lower_share) + lower * lower_share;
}

constexpr const char* kEmbedders[] = {"inception_resnet_v1", "mobilefacenet"};  // by their FaceCut
constexpr std::int64_t kUprightHeight = 112;  // of ArcFace's networks and its followers, which all see upright faces

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

std::optional<data::Picture> crop_face(const data::Picture& photo, const FaceBox& box, std::int64_t height,
                                       std::int64_t width, double margin) {
  const auto around = [&](std::int64_t side) { return margin / (static_cast<double>(side) - margin) / 2; };
  const double beside = around(width) * (box.x2 - box.x1), above = around(height) * (box.y2 - box.y1);
  const auto x1 = static_cast<std::int64_t>(std::max(box.x1 - beside, 0.0));
  const auto y1 = static_cast<std::int64_t>(std::max(box.y1 - above, 0.0));
  const auto x2 = static_cast<std::int64_t>(std::min(box.x2 + beside, static_cast<double>(photo.width)));
  const auto y2 = static_cast<std::int64_t>(std::min(box.y2 + above, static_cast<double>(photo.height)));
  if (x2 <= x1 || y2 <= y1) return std::nullopt;
  return data::resize(data::part_of(photo, {x1, y1, x2 - x1, y2 - y1}), height, width);
}

FaceBox portrait_of(const data::Picture& photo, const FaceBox& box) {
  constexpr float kMore = 1.25F;
  const auto width = static_cast<float>(photo.width), height = static_cast<float>(photo.height);
  const float side = std::min({kMore * std::max(box.x2 - box.x1, box.y2 - box.y1), width, height});
  const float x = std::clamp((box.x1 + box.x2 - side) / 2, 0.0F, width - side);
  const float y = std::clamp((box.y1 + box.y2 - side) / 2, 0.0F, height - side);
  return {x, y, x + side, y + side, box.probability};
}

Similarity similarity(const std::array<Point, 5>& from, const std::array<Point, 5>& to) {
  const auto middle = [](const std::array<Point, 5>& points) {
    double x = 0, y = 0;
    for (const Point& point : points) {
      x += point.x / 5.0;
      y += point.y / 5.0;
    }
    return std::pair(x, y);
  };
  const auto [from_x, from_y] = middle(from);
  const auto [to_x, to_y] = middle(to);
  double along = 0, across = 0, size = 0;
  for (std::size_t i = 0; i < 5; ++i) {
    const double x = from[i].x - from_x, y = from[i].y - from_y, u = to[i].x - to_x, v = to[i].y - to_y;
    along += x * u + y * v;
    across += x * v - y * u;
    size += x * x + y * y;
  }
  if (size == 0) return {};
  const double a = along / size, b = across / size;
  return {a, b, to_x - a * from_x + b * from_y, to_y - b * from_x - a * from_y};
}

void align_face(const data::Picture& photo, const std::array<Point, 5>& landmarks, const data::ImageShape& shape,
                std::span<std::uint8_t> chw) {
  std::array<Point, 5> wanted = kAligned;
  const double scale = static_cast<double>(shape.height) / kAlignedHeight;
  const double beside = (static_cast<double>(shape.width) - scale * kAlignedWidth) / 2;
  for (Point& point : wanted) {
    point = {static_cast<float>(scale * point.x + beside), static_cast<float>(scale * point.y)};
  }
  const Similarity back = similarity(wanted, landmarks);  // from the result to the photo
  const auto plane = static_cast<std::size_t>(shape.height * shape.width);
  for (std::int64_t y = 0; y < shape.height; ++y) {
    for (std::int64_t x = 0; x < shape.width; ++x) {
      const double px = back.a * static_cast<double>(x) - back.b * static_cast<double>(y) + back.c;
      const double py = back.b * static_cast<double>(x) + back.a * static_cast<double>(y) + back.d;
      for (std::int64_t c = 0; c < kChannels; ++c) {
        chw[static_cast<std::size_t>(c) * plane + static_cast<std::size_t>(y * shape.width + x)] =
            static_cast<std::uint8_t>(std::lround(value_at(photo, px, py, c)));
      }
    }
  }
}

void check_embedder(const std::string& name) {
  if (inference::is_foreign_model(name) || std::ranges::find(kEmbedders, name) != std::end(kEmbedders)) return;
  std::vector<std::string> known(std::begin(kEmbedders), std::end(kEmbedders));
  known.emplace_back("FILE.onnx");
  throw UsageError(unknown_name_message("embedder", name, known));
}

FaceEmbedder::FaceEmbedder(engine::Engine& engine, const EmbedderRequest& request, engine::RunnerOptions options,
                           int lanes) {
  check_embedder(request.name);
  options.batch = static_cast<std::int64_t>(batch_);
  if (inference::is_foreign_model(request.name)) {
    take_file(engine, request, std::move(options), lanes);
  } else {
    take_ours(engine, request, std::move(options), lanes);
  }
}

void FaceEmbedder::take_ours(engine::Engine& engine, const EmbedderRequest& request, engine::RunnerOptions options,
                             int lanes) {
  const inference::TrainedModel embedder =
      // Trained with a layer for the persons of its data, which embeddings don't need.
      inference::open_trained_model({.model = request.name, .weights = request.weights, .passed_over = "logits."});
  notes_ = embedder.notes;
  const auto& shape = embedder.network.input_shape();
  shape_ = {shape[0], shape[1], shape[2]};
  cut_ = request.cut.value_or(value_named<FaceCut>(kEmbedders, "embedder", request.name));
  output_ = embedder.network.outputs().front().name;
  set_face_normalization(options);
  runners_ = engine.make_runners(embedder.network, embedder.state, options, lanes);
}

void FaceEmbedder::take_file(engine::Engine& engine, const EmbedderRequest& request, engine::RunnerOptions options,
                             int lanes) {
  inference::InferenceRequest asked = request.file;
  asked.model.model = request.name;
  asked.model.weights = request.weights;
  asked.tells_classes = false;
  asked.usual_normalization = "0.5/0.5";  // what most networks for faces were trained with
  file_ = std::make_unique<inference::InferenceModel>(asked);
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
        request.name, inference::outputs_text(outputs), batch_, batch_));
  }
  if (outputs.size() > 1) {
    notes_.push_back(
        fmt::format("'{}' gives {}; '{}' is taken", request.name, inference::outputs_text(outputs), output_));
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

}  // namespace evener::faces

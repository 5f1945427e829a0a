#include "faces/find/face_detector_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/names.h"
#include "data/preprocess.h"
#include "data/resize.h"
#include "detect/decoders/five_points.h"
#include "engine/model_file.h"
#include "infer/model/inference_model.h"
#include "infer/model/normalization.h"
#include "infer/model/trial_run.h"

namespace evener::faces {
namespace {

constexpr std::int64_t kUsualSide = 640;        // of images, where a file leaves it open
constexpr std::int64_t kLongestOwnSide = 2048;  // of photos that are seen at their own size, to bound memory
constexpr SeenSize kTried = {96, 64};           // to see whether a network takes images of any size

std::string size_text(const SeenSize& size) {
  return fmt::format("{}x{}", size.width, size.height);
}

/// What the outputs are for one image.
std::vector<detection::PlaceOutput> place_outputs(const TensorMap& outputs) {
  std::vector<detection::PlaceOutput> places;
  for (const auto& [name, values] : outputs) places.push_back(detection::place_output(name, values.shape, 1));
  return places;
}

TensorMap outputs_for(engine::Runner& runner, std::span<const float> values, const SeenSize& image, bool any_size) {
  if (any_size) {
    runner.start_of_size(values, 1, image.height, image.width);
  } else {
    runner.start(values);
  }
  return runner.wait();
}

TensorMap outputs_for_nothing(engine::Runner& runner, const SeenSize& image, bool any_size) {
  const std::vector<float> zeros(static_cast<std::size_t>(3 * image.width * image.height));
  return outputs_for(runner, zeros, image, any_size);
}

/// A file that was opened, with its input.
struct OpenedFile {
  std::string path;
  std::unique_ptr<engine::ModelFile> file;
  engine::ModelInput input;
  SeenSize size;  // -1 = the file leaves it open
};

/// Throws Error for a file that can't be read, or doesn't take colour images.
OpenedFile open_file(engine::Engine& engine, const std::string& path) {
  if (!std::filesystem::exists(path)) throw Error(fmt::format("'{}' doesn't exist", path));
  inference::require_opens(path);
  OpenedFile opened{path, engine.open_model_file(path), {}, {}};
  std::vector<std::int64_t> shape = opened.file->inputs().front().shape;
  const auto may_be_colours = [](std::int64_t extent) { return extent == 3 || extent < 1; };
  if (shape.size() == 4 && !may_be_colours(shape[1]) && shape[3] == 3) {
    opened.input.channels = engine::ChannelPlace::kLast;
    std::rotate(shape.begin() + 1, shape.end() - 1, shape.end());
  }
  if (shape.size() != 4 || !may_be_colours(shape[1])) {
    throw Error(fmt::format("'{}' takes inputs of shape ({}), not colour images: it can't find faces", path,
                            fmt::join(shape, ", ")));
  }
  opened.size = {shape[3], shape[2]};
  return opened;
}

/// Makes runners of a file's network for images of a size; of any size where it is absent. Images are floats, which the
/// network sees as they are.
std::vector<std::unique_ptr<engine::Runner>> runners_for(const OpenedFile& opened, const std::optional<SeenSize>& size,
                                                         engine::RunnerOptions options, int count) {
  const data::ChannelStatistics as_it_is = inference::for_channels(inference::parse_normalization("pixels"), 3);
  options.mean = as_it_is.mean;
  options.standard_deviation = as_it_is.standard_deviation;
  options.batch = 1;
  options.values = engine::ImageValues::kFloats;
  options.any_size = !size;
  const SeenSize seen = size.value_or(SeenSize{-1, -1});
  engine::ModelInput input = opened.input;
  input.shape = {3, seen.height, seen.width};
  return opened.file->make_runners(input, options, count);
}

/// Runners for images of any size, where the network can be computed at more sizes than the file's; else none.
std::vector<std::unique_ptr<engine::Runner>> runners_for_any_size(const OpenedFile& opened,
                                                                  const engine::RunnerOptions& options, int count) {
  try {
    auto runners = runners_for(opened, std::nullopt, options, count);
    const auto outputs = place_outputs(outputs_for_nothing(*runners.front(), kTried, true));
    if (detection::FivePointDecoder::recognise(outputs, kTried.width, kTried.height)) return runners;
  } catch (const Error&) {  // its sizes are fixed somewhere in the graph
  }
  return {};
}

[[noreturn]] void refuse_detector(const std::string& path, const SeenSize& size, const TensorMap& outputs) {
  throw Error(fmt::format(
      "'{}' is no face detector that is known: for an image of {} pixels it gives {}. Known are SCRFD (for three "
      "strides scores, boxes and points: 9 outputs), YuNet (12) and RetinaFace (3: offsets of boxes, of two classes, "
      "of points). Other detectors find objects by 'evener detect'",
      path, size_text(size), inference::outputs_text(outputs)));
}

void check_size(const SeenSize& size, const std::string& path) {
  if (size.width % detection::kFaceSideMultiple == 0 && size.height % detection::kFaceSideMultiple == 0) return;
  throw UsageError(fmt::format("'{}' sees images whose sides are multiples of {}, not {}: give another --detector-size",
                               path, detection::kFaceSideMultiple, size_text(size)));
}

class FaceDetectorFile : public FaceDetector {
 public:
  /// `size`: of the images that the network sees; absent = any.
  FaceDetectorFile(std::string path, const detection::FaceFamilyFacts& facts, std::optional<SeenSize> size,
                   std::unique_ptr<engine::Runner> runner, const FaceDetectorFileOptions& options)
      : path_(std::move(path)), facts_(facts), size_(size), runner_(std::move(runner)), options_(options) {}

  std::vector<Face> find(const data::Picture& photo) override {
    Stopwatch clock;
    const PhotoOnImage on_image = place(photo);
    paint(photo, on_image);
    const double painted_s = clock.seconds();
    const TensorMap outputs = compute(on_image.image);
    const double computed_s = clock.seconds();
    const auto decoder =
        detection::FivePointDecoder::recognise(place_outputs(outputs), on_image.image.width, on_image.image.height);
    if (!decoder) refuse_detector(path_, on_image.image, outputs);
    std::vector<const float*> values;
    for (const auto& output : outputs) values.push_back(output.second.floats());
    // InsightFace and OpenCV divide by one scale for both sides, that of the height.
    const float scale = static_cast<float>(on_image.height) / static_cast<float>(photo.height);
    std::vector<Face> faces;
    for (const detection::FivePointFace& found :
         decoder->faces(values, {.least_score = options_.least_score.value_or(facts_.least_score),
                                .overlap = facts_.overlap,
                                .pixel = scale})) {
      Face face;
      face.box = {found.x1 / scale, found.y1 / scale, found.x2 / scale, found.y2 / scale, found.score};
      const float shorter = std::min(face.box.x2 - face.box.x1, face.box.y2 - face.box.y1);
      if (shorter < static_cast<float>(options_.min_size)) continue;
      const std::array<float, 10>& points = found.points.value();
      for (std::size_t i = 0; i < face.landmarks.size(); ++i) {
        face.landmarks[i] = {points[2 * i] / scale, points[2 * i + 1] / scale};
      }
      faces.push_back(face);
    }
    times_.main_s += computed_s - painted_s;
    times_.other_s += clock.seconds() - (computed_s - painted_s);
    return faces;
  }
  void look_at_nothing() override {
    const SeenSize image = size_.value_or(SeenSize{kLongestOwnSide, kLongestOwnSide});
    values_.assign(static_cast<std::size_t>(3 * image.width * image.height), 0);
    compute(image);
  }
  float sure_probability() const override { return facts_.sure_score; }
  std::string main_part() const override { return std::string(facts_.name) + "'s network"; }

 private:
  PhotoOnImage place(const data::Picture& photo) const {
    if (size_) return fitted_into(*size_, photo.width, photo.height);
    return at_own_size(photo.width, photo.height, kLongestOwnSide, detection::kFaceSideMultiple);
  }
  /// Writes the photo on its image into values_, normalised, as (3, H, W).
  void paint(const data::Picture& photo, const PhotoOnImage& on_image) {
    const bool scaled = on_image.width != photo.width || on_image.height != photo.height;
    data::Picture resized;
    if (scaled) {
      resized =
          data::opencv_resize_part(photo, on_image.height, on_image.width, {0, 0, on_image.width, on_image.height});
    }
    const data::Picture& seen = scaled ? resized : photo;
    const auto [width, height] = on_image.image;
    values_.resize(static_cast<std::size_t>(3 * width * height));
    for (std::int64_t channel = 0; channel < 3; ++channel) {
      const float mean = facts_.mean[static_cast<std::size_t>(channel)], scale = facts_.scale;
      const std::int64_t of_picture = seen.channels == 1 ? 0 : facts_.blue_first ? 2 - channel : channel;
      float* to = values_.data() + channel * width * height;
      for (std::int64_t y = 0; y < seen.height; ++y, to += width) {
        const std::uint8_t* const from = seen.row(y) + of_picture;
        for (std::int64_t x = 0; x < seen.width; ++x) {
          to[x] = (static_cast<float>(from[x * seen.channels]) - mean) * scale;
        }
        std::fill(to + seen.width, to + width, -mean * scale);
      }
      std::fill(to, values_.data() + (channel + 1) * width * height, -mean * scale);
    }
  }
  /// The network's outputs for values_.
  TensorMap compute(const SeenSize& image) { return outputs_for(*runner_, values_, image, !size_); }

  const std::string path_;
  const detection::FaceFamilyFacts& facts_;
  const std::optional<SeenSize> size_;
  std::unique_ptr<engine::Runner> runner_;
  const FaceDetectorFileOptions options_;
  std::vector<float> values_;
};

/// Opens a file and makes `count` detectors. A call takes one photo: on a CPU several calls at the same time take less
/// time than one with several photos. Throws UsageError where the file can't be used so, Error for a file that is no
/// face detector that is known, naming its outputs.
FaceDetectors open_detector_file(engine::Engine& engine, const std::string& path,
                                 const FaceDetectorFileOptions& options, engine::RunnerOptions runner, int count) {
  if (std::string_view(engine.name()) != "openvino" || runner.device.kind == DeviceKind::kCuda) {
    throw UsageError(
        fmt::format("the engine '{}' doesn't run files such as '{}': find faces by it on the CPU, with "
                    "OpenVINO, or by --detector mtcnn",
                    engine.name(), path));
  }
  if (options.size) check_size(*options.size, path);
  const OpenedFile opened = open_file(engine, path);
  SeenSize size = options.size.value_or(opened.size);
  if (size.width < 1) size.width = kUsualSide;
  if (size.height < 1) size.height = kUsualSide;
  auto runners = [&] {
    try {
      return runners_for(opened, size, runner, count);
    } catch (const Error& error) {
      if (!options.size) throw;
      throw UsageError(fmt::format("'{}' can't see images of {} pixels; leave out --detector-size. The reason: {}",
                                   path, size_text(size), error.what()));
    }
  }();
  const TensorMap outputs = outputs_for_nothing(*runners.front(), size, false);
  const auto decoder = detection::FivePointDecoder::recognise(place_outputs(outputs), size.width, size.height);
  if (!decoder) refuse_detector(path, size, outputs);
  const detection::FaceFamilyFacts& facts = detection::face_family_facts(decoder->family());
  if (!decoder->has_points()) {
    throw Error(
        fmt::format("'{}' is a {} that finds boxes without the five points of a face, which embedding needs. "
                    "Take one with points: InsightFace's have 'kps' in their names",
                    path, facts.name));
  }
  check_size(size, path);
  std::optional<SeenSize> seen = size;
  if (decoder->family() == detection::FaceFamily::kYunet && !options.size) {
    if (auto any = runners_for_any_size(opened, runner, count); !any.empty()) {
      runners = std::move(any);
      seen.reset();
    }
  }
  FaceDetectors detectors;
  for (auto& one : runners) {
    detectors.lanes.push_back(std::make_unique<FaceDetectorFile>(path, facts, seen, std::move(one), options));
  }
  detectors.notes.push_back(
      fmt::format("faces are found by '{}', a {} that sees photos {}", path, facts.name,
                  seen ? fmt::format("fitted into {} pixels", size_text(size))
                       : fmt::format("at their own size, up to {} pixels along a side", kLongestOwnSide)));
  return detectors;
}

}  // namespace

PhotoOnImage fitted_into(const SeenSize& image, std::int64_t photo_width, std::int64_t photo_height) {
  const data::PictureLayout layout =
      data::letterbox_layout(photo_width, photo_height, {3, image.height, image.width},
                             {.upper_left = true, .rounding = data::LetterboxRounding::kDownFromRatio});
  return {image, layout.width, layout.height};
}

PhotoOnImage at_own_size(std::int64_t photo_width, std::int64_t photo_height, std::int64_t longest,
                         std::int64_t multiple) {
  PhotoOnImage placed{{}, photo_width, photo_height};
  if (std::max(photo_width, photo_height) > longest) {
    placed = fitted_into({longest, longest}, photo_width, photo_height);
  }
  const auto padded = [&](std::int64_t extent) { return (extent + multiple - 1) / multiple * multiple; };
  placed.image = {padded(placed.width), padded(placed.height)};
  return placed;
}

void check_detector(const std::string& name) {
  if (name == "mtcnn" || inference::is_foreign_model(name)) return;
  throw UsageError(unknown_name_message("detector", name, {"mtcnn", "FILE.onnx"}));
}

FaceDetectors make_face_detectors(engine::Engine& engine, const DetectorRequest& request, engine::RunnerOptions runner,
                                  int count) {
  check_detector(request.name);
  if (inference::is_foreign_model(request.name))
    return open_detector_file(engine, request.name, request.file, runner, count);
  runner.precision = Precision::kFp32;
  return {make_mtcnn(engine, read_detector_weights(request.weights), request.mtcnn, std::move(runner), count)};
}

}  // namespace evener::faces

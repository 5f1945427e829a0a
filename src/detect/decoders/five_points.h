// Networks that find faces with five points each, as ONNX files have them: SCRFD, YuNet and RetinaFace. They are
// recognised by the sizes of their outputs, in whatever order these come; names don't matter.
//
//   SCRFD (Guo et al. 2021), as InsightFace exports it: for strides 8, 16 and 32 (or up to 128) a score, the distances
//     of the four sides from an anchor and offsets of the points, in strides. One or two anchors at each place.
//   YuNet (Wu et al. 2023), as OpenCV's FaceDetectorYN takes it: for strides 8, 16 and 32 two scores, the probability
//     of which is the root of their product, a box (middle, and logarithms of width and height) and points, in strides.
//   RetinaFace (Deng et al. 2020), as biubug6/Pytorch_Retinaface exports it: offsets, logits or probabilities of two
//     classes, and points, of two priors at each place of strides 8, 16 and 32.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace evener::detection {

enum class FaceFamily : std::uint8_t { kScrfd, kYunet, kRetinaface };

/// What is usual for a family.
struct FaceFamilyFacts {
  const char* name;   // "SCRFD"
  float least_score;  // faces must have this score
  float sure_score;   // from which hardly any box is something else than a face
  float overlap;      // NMS: of faces that overlap by more, only the likeliest stays
  // How it takes pixels from 0 to 255: less the mean, times the scale, in the order of the mean; the same as
  // --normalize takes it.
  bool blue_first;
  std::array<float, 3> mean;
  float scale;
  const char* normalization;
};
/// The sides of the networks' images are multiples of it, for every family.
constexpr std::int64_t kFaceSideMultiple = 32;
const FaceFamilyFacts& face_family_facts(FaceFamily family);

/// An output for one image: `rows` places with `columns` values each.
struct PlaceOutput {
  std::string name;
  std::int64_t rows = 0, columns = 0;
};
/// The output of that whole shape for one of `batch` images: its last extent are the columns.
PlaceOutput place_output(const std::string& name, const std::vector<std::int64_t>& shape, std::int64_t batch);

/// A face in pixels of the network's image.
struct FivePointFace {
  float x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  float score = 0;
  /// x and y of the eye on the left of the image, the eye on the right, the tip of the nose, the left and the right
  /// corner of the mouth. Absent where the network gives none.
  std::optional<std::array<float, 10>> points = {};
};

struct FivePointOptions {
  float least_score = 0.5F;
  float overlap = 0.4F;           // see FaceFamilyFacts
  float pixel = 1;                // the side of a pixel of the photo, in pixels of the network's image
  std::size_t candidates = 5000;  // the likeliest places, which NMS looks at
};

class FivePointDecoder {
 public:
  /// Recognises the family of a network for images of width x height pixels by its outputs. Absent where it is none of
  /// these.
  static std::optional<FivePointDecoder> recognise(std::span<const PlaceOutput> outputs, std::int64_t width,
                                                   std::int64_t height);

  FaceFamily family() const { return family_; }
  bool has_points() const { return has_points_; }

  /// The faces of one image, the likeliest first. `outputs`: the values of each output for this image, in the order
  /// that recognise() saw them in. Boxes may reach beyond the image. What isn't finite is left out.
  std::vector<FivePointFace> faces(std::span<const float* const> outputs, const FivePointOptions& options) const;

 private:
  /// Places at one stride, with the indices of their outputs.
  struct Level {
    std::int64_t stride = 0, rows = 0, columns = 0, anchors = 0;
    std::size_t score = 0, second_score = 0, box = 0, points = 0;
    std::size_t first = 0;  // the row of its first place in these outputs

    std::size_t places() const { return static_cast<std::size_t>(rows * columns * anchors); }
  };

  Level level_at(std::size_t index, std::int64_t anchors) const;
  bool recognise_levels(std::span<const PlaceOutput> outputs, std::size_t levels);
  bool recognise_priors(std::span<const PlaceOutput> outputs);
  /// The faces with a score of at least `least`, place by place.
  std::vector<FivePointFace> all_found(std::span<const float* const> outputs, float least) const;

  FaceFamily family_ = FaceFamily::kScrfd;
  bool has_points_ = true;
  std::vector<Level> levels_;
  std::int64_t width_ = 0, height_ = 0;  // of the image
};

}  // namespace evener::detection

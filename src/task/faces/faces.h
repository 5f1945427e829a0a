// Photos to faces to embeddings: read, find faces, prepare them, embed them, all at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/pictures.h"
#include "parallel/flow.h"
#include "placement/plan.h"
#include "task/faces/face.h"
#include "task/faces/mtcnn.h"

namespace evener::task {

/// Networks that turn a face into numbers.
enum class Embedder : std::uint8_t { kInceptionResnetV1, kMobileFaceNet };
/// "inception_resnet_v1", "mobilefacenet".
const char* embedder_name(Embedder embedder);
/// Throws UsageError, naming the nearest.
Embedder parse_embedder(const std::string& name);

struct FacesOptions {
  placement::Plan plan;
  Precision precision = Precision::kFp32;  // of the embedder; faces are found in fp32
  std::filesystem::path detector_weights;  // folder, see read_detector_weights
  Embedder embedder = Embedder::kInceptionResnetV1;
  std::filesystem::path weights = {};  // of the embedder; empty = random ones
  DetectorOptions detector = {};
  double margin = 0;  // see crop_face; Inception-ResNet only
  bool all = true;    // else the largest face of each photo
  bool strict = false;
  std::filesystem::path cache = {};
};

/// A face with its embedding, which is not brought to length 1 yet.
struct EmbeddedFace {
  std::size_t photo = 0;  // its number
  Face face;
  std::vector<float> embedding;
  data::Picture thumbnail;  // square
};

struct FacesResult {
  std::size_t photos = 0;              // that were read
  std::vector<data::Skipped> skipped;  // photos that could not be
  double seconds = 0;
  DetectorTimes detector_times;  // sums over all workers
  parallel::FlowReport flow;
};

/// The networks, ready for a placement.
class FacesJob {
 public:
  /// Throws UsageError where the placement can't, Error for weights that don't fit.
  explicit FacesJob(const FacesOptions& options);
  ~FacesJob();

  /// What a user should know, such as that the embedder's weights are random.
  const std::vector<std::string>& notes() const { return notes_; }
  std::size_t lanes() const { return detectors_.size(); }

  /// `on_face` gets all faces of a photo in their order, photos in theirs; `on_photo` is told each photo that has gone
  /// through, by any thread.
  FacesResult run(const data::Pictures& photos, const std::function<void(EmbeddedFace)>& on_face,
                  const std::function<void()>& on_photo);

 private:
  struct Found;
  std::vector<Found> find(const data::Pictures& photos, std::size_t index, int worker);
  bool prepare(const data::Picture& photo, Found& found) const;

  const FacesOptions options_;
  std::unique_ptr<engine::Engine> engine_;
  std::vector<std::unique_ptr<FaceDetector>> detectors_;
  std::vector<std::unique_ptr<engine::Runner>> embedders_;
  data::ImageShape face_shape_;
  std::vector<std::string> notes_;
};

}  // namespace evener::task

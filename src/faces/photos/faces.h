// From photos to faces and their embeddings: photos are read, and faces found, cut out and embedded, all at the same
// time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/open/pictures.h"
#include "faces/find/face_detector.h"
#include "faces/find/face_detector_file.h"
#include "faces/photos/embedder.h"
#include "faces/photos/photo_room.h"
#include "parallel/flow.h"
#include "placement/plan.h"

namespace evener::faces {

struct FacesOptions {
  placement::Plan plan;
  Precision precision = Precision::kFp32;  // of the embedder, and of a detector in a file; MTCNN computes in fp32
  DetectorRequest detector = {};
  EmbedderRequest embedder = {};
  double margin = 0;  // see crop_face; of faces that are cut out as boxes
  bool all = true;    // else the largest face of each photo
  bool turn = false;  // see find_turned
  bool strict = false;
  std::size_t chunk = 50;          // photos, see FacesChunk
  std::uint64_t memory_bytes = 0;  // of the process while it looks at photos; 0 = as much as it wants
  std::filesystem::path cache = {};
};

/// A face with its embedding as the network gives it, not yet scaled to length 1.
struct EmbeddedFace {
  std::size_t photo = 0;  // its number
  Face face;
  std::vector<float> embedding;
  std::string thumbnail;  // square; bytes of a JPEG file

  /// Frees the memory, which assigning an empty string would keep.
  void drop_thumbnail() { std::string().swap(thumbnail); }
};

/// All that was found on a photo.
struct PhotoFaces {
  std::size_t photo = 0;      // its number
  std::uint64_t content = 0;  // see content_of
  std::vector<EmbeddedFace> faces;
};

/// A hash of the file's bytes, by which a photo is recognised under any name. Throws Error where it can't be read.
std::uint64_t content_of(const std::filesystem::path& file);

/// The same of a picture, which may be a frame of a video: then of the video and the frame's time.
std::uint64_t content_of(const data::Pictures& pictures, std::size_t index);

struct FacesResult {
  std::size_t photos = 0;              // that were read
  std::vector<data::Skipped> skipped;  // photos that could not be
  double seconds = 0;
  /// For each photo when all of its faces were embedded, in seconds since the first photo's begin. Photos before it
  /// may be found in the meantime, so that it, not when its faces were found, tells how fast the whole job is.
  std::vector<double> done_s;
  DetectorTimes detector_times;  // sums over all workers
  parallel::FlowReport flow;
  bool was_stopped = false;  // frames of a camera or a pipe, until a stop was requested
};

/// The networks, ready for a placement.
class FacesJob {
 public:
  /// Throws UsageError where faces can't be found on this placement, Error for weights that don't fit.
  explicit FacesJob(const FacesOptions& options);
  ~FacesJob();

  /// What a user should know, such as that the embedder's weights are random.
  std::vector<std::string> notes() const;
  std::size_t lanes() const { return detectors_.size(); }
  /// The photos that may be done at the same moment: those whose faces are embedded together, by each worker.
  std::size_t done_together() const { return embedder_->batch() * lanes(); }
  /// See FaceDetector.
  float sure_probability() const { return detectors_.front()->sure_probability(); }
  std::string main_part() const { return detectors_.front()->main_part(); }

  /// Divides FacesOptions::memory_bytes between the networks and the photos, whose sizes it estimates by the headers of
  /// some of them. Does nothing where memory_bytes is 0. Throws UsageError, naming the least memory that works, where
  /// it doesn't suffice for the networks and one photo.
  void fit_into_memory(const data::Pictures& photos, const std::vector<std::size_t>& which);

  /// Finds and embeds the faces of the photos with the numbers `which`. `on_photo` is called for each photo that could
  /// be read, as soon as all its faces are embedded: never by two threads at once, but by any thread and in any order.
  /// `on_chunk` is called likewise for each FacesChunk. Of a camera or a pipe all frames are looked at that come,
  /// whatever `which` says, until a stop is requested.
  FacesResult run(const data::Pictures& photos, const std::vector<std::size_t>& which,
                  const std::function<void(PhotoFaces)>& on_photo,
                  const std::function<void(const FacesChunk&)>& on_chunk = {});

 private:
  struct Found;
  class Gathering;
  std::vector<Found> find(data::Picture photo, std::size_t index, int worker);
  DetectorTimes detector_times() const;
  bool prepare(const data::Picture& photo, Found& found) const;

  const FacesOptions options_;
  const bool on_cpu_;
  std::unique_ptr<engine::Engine> engine_;
  std::vector<std::unique_ptr<FaceDetector>> detectors_;
  std::vector<std::string> detector_notes_;
  std::optional<FaceEmbedder> embedder_;
  std::unique_ptr<PhotoRoom> room_ = std::make_unique<PhotoRoom>();
};

}  // namespace evener::faces

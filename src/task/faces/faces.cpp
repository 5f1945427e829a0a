#include "task/faces/faces.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <span>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/files.h"
#include "base/heap.h"
#include "base/module.h"
#include "base/random.h"
#include "data/codecs/png_encode.h"
#include "task/faces/prepare.h"
#include "task/faces/turned.h"

namespace evener::task {
namespace {

constexpr std::int64_t kThumbnailSide = 96;

int threads_of(const placement::Plan& plan) {
  int threads = 0;
  for (const auto& replica : plan.replicas) threads += std::max(1, replica.stages.front().threads);
  return threads;
}

}  // namespace

/// A face before it is embedded.
struct FacesJob::Found {
  std::size_t photo = 0;
  Face face;
  std::vector<std::uint8_t> prepared;
  std::string thumbnail;
};

/// Brings the faces of each photo together again.
class FacesJob::Gathering {
 public:
  explicit Gathering(const std::function<void(PhotoFaces)>& on_photo) : on_photo_(on_photo) {}

  /// A photo has so many faces, which come later.
  void expect(std::size_t photo, std::uint64_t content, std::size_t faces) {
    const std::scoped_lock lock(mutex_);
    ++photos_;
    if (faces == 0) return on_photo_({photo, content, {}});
    waiting_[photo] = {faces, {photo, content, {}}};
  }

  void add(EmbeddedFace face) {
    const std::scoped_lock lock(mutex_);
    const auto found = waiting_.find(face.photo);
    Photo& photo = found->second;
    photo.known.faces.push_back(std::move(face));
    if (photo.known.faces.size() < photo.faces) return;
    on_photo_(std::move(photo.known));
    waiting_.erase(found);
  }

  std::size_t photos() const { return photos_; }

 private:
  struct Photo {
    std::size_t faces = 0;  // that it has
    PhotoFaces known;
  };

  const std::function<void(PhotoFaces)>& on_photo_;
  std::mutex mutex_;
  std::map<std::size_t, Photo> waiting_;
  std::size_t photos_ = 0;
};

std::uint64_t content_of(const std::filesystem::path& file) {
  const std::string bytes = read_file(file);
  return hash_text(bytes);
}

FacesJob::FacesJob(const FacesOptions& options) : options_(options) {
  const bool on_cpu = std::ranges::all_of(options.plan.replicas, [](const placement::PlanReplica& replica) {
    return replica.stages.front().device.kind == DeviceKind::kCpu;
  });
  const bool has_openvino = module_status("openvino").state == ModuleState::kUsable;
  engine_ = engine::open_engine(on_cpu && has_openvino ? "openvino" : "torch");
  if (options.plan.replicas.size() > 1 && !on_cpu) {
    throw UsageError("faces are found on one GPU or on CPUs, not on both together yet; use --on cpu or --on cuda:0");
  }
  engine::RunnerOptions runner;
  runner.device = options.plan.replicas.front().stages.front().device;
  // A photo for each thread: they never wait for each other.
  const int lanes = on_cpu && has_openvino ? threads_of(options.plan) : 1;
  runner.threads = on_cpu ? threads_of(options.plan) : 1;
  runner.cache = options.cache;
  const DetectorWeights weights = read_detector_weights(options.detector_weights);
  detectors_ = FaceDetector::make(*engine_, weights, options.detector, runner, lanes);
  runner.precision = options.precision;
  embedder_.emplace(*engine_, options.embedder, runner, lanes);
  if (options.margin >= static_cast<double>(std::min(embedder_->face_shape().height, embedder_->face_shape().width))) {
    throw UsageError(fmt::format("--margin {} leaves nothing of faces of {} x {} pixels", options.margin,
                                 embedder_->face_shape().width, embedder_->face_shape().height));
  }
  give_back_freed_memory();
}

FacesJob::~FacesJob() = default;

bool FacesJob::prepare(const data::Picture& photo, Found& found) const {
  const data::ImageShape& shape = embedder_->face_shape();
  found.prepared.resize(shape.bytes());
  if (embedder_->cut() == FaceCut::kUpright) {
    align_face(photo, found.face.landmarks, shape, found.prepared);
  } else if (!crop_face(photo, found.face.box, shape, options_.margin, found.prepared)) {
    return false;
  }
  std::vector<std::uint8_t> planes(static_cast<std::size_t>(3 * kThumbnailSide * kThumbnailSide));
  if (!crop_face(photo, portrait_of(photo, found.face.box), {3, kThumbnailSide, kThumbnailSide}, /*margin=*/0, planes))
    return false;
  found.thumbnail = data::encode_png({3, kThumbnailSide, kThumbnailSide}, planes);
  found.thumbnail.shrink_to_fit();
  return true;
}

std::vector<FacesJob::Found> FacesJob::find(const data::Pictures& photos, std::size_t index, int worker) {
  FaceDetector& detector = *detectors_[static_cast<std::size_t>(worker)];
  TurnedPhoto seen{photos.read(index), {}, 0};
  if (options_.turn) {
    seen = find_turned(detector, std::move(seen.photo));
  } else {
    seen.faces = detector.find(seen.photo);
  }
  std::vector<Face>& faces = seen.faces;
  if (!options_.all && faces.size() > 1) {
    std::ranges::swap(faces.front(), *std::ranges::max_element(faces, {}, [](const Face& f) { return f.box.area(); }));
    faces.resize(1);
  }
  std::vector<Found> found;
  for (const Face& face : faces) {
    Found one{index, face, {}, {}};
    if (!prepare(seen.photo, one)) continue;
    one.face = turned_back(face, seen.quarters, seen.photo.width, seen.photo.height);
    found.push_back(std::move(one));
  }
  return found;
}

FacesResult FacesJob::run(const data::Pictures& photos, const std::vector<std::size_t>& which,
                          const std::function<void(PhotoFaces)>& on_photo,
                          const std::function<void(const FacesChunk&)>& on_chunk) {
  std::size_t next = 0;
  Gathering gathering(on_photo);
  const int lanes = static_cast<int>(detectors_.size());
  const std::size_t batch = embedder_->batch();
  ChunkMeter meter(lanes, options_.chunk, on_chunk);
  const auto next_index = [&]() -> std::optional<std::size_t> {
    return next < which.size() ? std::optional(which[next++]) : std::nullopt;
  };
  const auto find_faces = [&](std::size_t index, int worker) {
    meter.begin(worker);
    std::vector<Found> found = find(photos, index, worker);
    meter.end(worker, found.size());
    gathering.expect(index, content_of(photos.source(index)), found.size());
    return found;
  };
  const auto embed = [&](std::vector<Found> faces, int worker) {
    std::vector<std::span<const std::uint8_t>> prepared;
    for (const Found& face : faces) prepared.emplace_back(face.prepared);
    std::vector<std::vector<float>> vectors = embedder_->embed(prepared, worker);
    std::vector<EmbeddedFace> embedded;
    for (std::size_t i = 0; i < faces.size(); ++i) {
      embedded.push_back({faces[i].photo, faces[i].face, std::move(vectors[i]), std::move(faces[i].thumbnail)});
    }
    return embedded;
  };
  const auto failure = options_.strict ? parallel::OnFailure::kEndFlow : parallel::OnFailure::kSetAside;
  // The source has no name for a face, only for its photo.
  const auto name_of = [&](const std::size_t& index) { return photos.source(index); };
  parallel::Flow flow =
      parallel::flow_from<std::size_t>({.name = "list"}, next_index, name_of)
          .expand({.name = "find faces", .workers = lanes, .on_failure = failure}, find_faces)
          .batch(batch)
          .expand({.name = "embed", .workers = lanes, .capacity = 4 * batch}, embed)
          .into({.name = "keep", .capacity = 2 * batch}, [&](EmbeddedFace face) { gathering.add(std::move(face)); });
  const Stopwatch clock;
  try {
    flow.run();
  } catch (...) {
    meter.finish();
    throw;
  }
  meter.finish();
  FacesResult result;
  result.seconds = clock.seconds();
  result.photos = gathering.photos();
  result.flow = flow.report();
  for (const auto& item : result.flow.set_aside) result.skipped.push_back({item.name, item.reason});
  for (const auto& detector : detectors_) {
    result.detector_times.proposal_s += detector->times().proposal_s;
    result.detector_times.refinement_s += detector->times().refinement_s;
    result.detector_times.output_s += detector->times().output_s;
  }
  return result;
}

}  // namespace evener::task

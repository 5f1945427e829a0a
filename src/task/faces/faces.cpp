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
#include "base/names.h"
#include "base/random.h"
#include "data/codecs/png_encode.h"
#include "task/faces/prepare.h"
#include "task/faces/turned.h"
#include "task/trained_model.h"

namespace evener::task {
namespace {

constexpr Embedder kEmbedders[] = {Embedder::kInceptionResnetV1, Embedder::kMobileFaceNet};
constexpr std::int64_t kEmbedderBatch = 8;
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

const char* embedder_name(Embedder embedder) {
  return embedder == Embedder::kMobileFaceNet ? "mobilefacenet" : "inception_resnet_v1";
}

Embedder parse_embedder(const std::string& name) {
  std::vector<std::string> known;
  for (const Embedder embedder : kEmbedders) {
    known.emplace_back(embedder_name(embedder));
    if (name == known.back()) return embedder;
  }
  throw UsageError(unknown_name_message("embedder", name, known));
}

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
  make_embedders(runner, lanes);
  give_back_freed_memory();
}

void FacesJob::make_embedders(engine::RunnerOptions runner, int lanes) {
  const TrainedModel embedder =
      // Trained with a layer for the persons of its data, which embeddings don't need.
      open_trained_model(
          {.model = embedder_name(options_.embedder), .weights = options_.weights, .passed_over = "logits."});
  notes_ = embedder.notes;
  const auto& shape = embedder.network.input_shape();
  face_shape_ = {shape[0], shape[1], shape[2]};
  runner.precision = options_.precision;
  runner.batch = kEmbedderBatch;
  runner.mean.assign(3, 0.5F);
  runner.standard_deviation.assign(3, 128.0F / 255);
  embedders_ = engine_->make_runners(embedder.network, embedder.state, runner, lanes);
}

FacesJob::~FacesJob() = default;

bool FacesJob::prepare(const data::Picture& photo, Found& found) const {
  found.prepared.resize(face_shape_.bytes());
  if (options_.embedder == Embedder::kMobileFaceNet) {
    align_face(photo, found.face.landmarks, face_shape_, found.prepared);
  } else if (!crop_face(photo, found.face.box, face_shape_.height, options_.margin, found.prepared)) {
    return false;
  }
  std::vector<std::uint8_t> planes(static_cast<std::size_t>(3 * kThumbnailSide * kThumbnailSide));
  if (!crop_face(photo, portrait_of(photo, found.face.box), kThumbnailSide, /*margin=*/0, planes)) return false;
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
    engine::Runner& runner = *embedders_[static_cast<std::size_t>(worker)];
    std::vector<std::uint8_t> batch(face_shape_.bytes() * static_cast<std::size_t>(kEmbedderBatch));
    for (std::size_t i = 0; i < faces.size(); ++i) {
      std::ranges::copy(faces[i].prepared, batch.begin() + static_cast<std::ptrdiff_t>(i * face_shape_.bytes()));
    }
    runner.start(std::span<const std::uint8_t>(batch));
    const TensorMap outputs = runner.wait();
    const HostTensor& vectors = outputs.begin()->second;
    const auto dimensions = static_cast<std::size_t>(element_count(vectors.shape) / vectors.shape.front());
    std::vector<EmbeddedFace> embedded;
    for (std::size_t i = 0; i < faces.size(); ++i) {
      const float* row = vectors.floats() + i * dimensions;
      embedded.push_back({faces[i].photo, faces[i].face, {row, row + dimensions}, std::move(faces[i].thumbnail)});
    }
    return embedded;
  };
  const auto failure = options_.strict ? parallel::OnFailure::kEndFlow : parallel::OnFailure::kSetAside;
  // The source has no name for a face, only for its photo.
  const auto name_of = [&](const std::size_t& index) { return photos.source(index); };
  parallel::Flow flow =
      parallel::flow_from<std::size_t>({.name = "list"}, next_index, name_of)
          .expand({.name = "find faces", .workers = lanes, .on_failure = failure}, find_faces)
          .batch(static_cast<std::size_t>(kEmbedderBatch))
          .expand({.name = "embed", .workers = lanes, .capacity = static_cast<std::size_t>(4 * kEmbedderBatch)}, embed)
          .into({.name = "keep", .capacity = static_cast<std::size_t>(2 * kEmbedderBatch)},
                [&](EmbeddedFace face) { gathering.add(std::move(face)); });
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

#include "faces/photos/faces.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <map>
#include <mutex>
#include <span>
#include <utility>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/module.h"
#include "base/names.h"
#include "base/random.h"
#include "base/slots.h"
#include "base/stop.h"
#include "base/this_work.h"
#include "data/codecs/colour.h"
#include "data/codecs/decode.h"
#include "data/image_files.h"
#include "faces/find/face_detector.h"
#include "faces/photos/embedder.h"

namespace evener::faces {
namespace {

constexpr std::int64_t kThumbnailSide = 96;
constexpr int kThumbnailQuality = 85;
constexpr std::size_t kLookedAtFirst = 64;                                 // photos, to see how large they are
constexpr std::uint64_t kBesidePhotosBytes = std::uint64_t{48} * 1000000;  // thumbnails, tables, the next batch

int threads_of(const placement::Plan& plan) {
  int threads = 0;
  for (const auto& replica : plan.replicas) threads += std::max(1, replica.stages.front().threads);
  return threads;
}

}  // namespace

/// A face before it is embedded.
struct FacesJob::Found {
  EmbeddedFace face;
  std::vector<std::uint8_t> prepared;
};

/// Brings the faces of each photo together again.
class FacesJob::Gathering {
 public:
  explicit Gathering(const std::function<void(PhotoFaces)>& on_photo) : on_photo_(on_photo) {}

  /// Announces that `faces` faces of a photo will come.
  void expect(std::size_t photo, std::uint64_t content, std::size_t faces) {
    const std::scoped_lock lock(mutex_);
    ++looked_at_;
    if (faces == 0) return done({photo, content, {}});
    waiting_[photo] = {faces, {photo, content, {}}};
  }

  void add(EmbeddedFace face) {
    const std::scoped_lock lock(mutex_);
    const auto found = waiting_.find(face.photo);
    Photo& photo = found->second;
    photo.known.faces.push_back(std::move(face));
    if (photo.known.faces.size() < photo.faces) return;
    done(std::move(photo.known));
    waiting_.erase(found);
  }

  /// The times at which the photos were done, since the first was begun.
  const std::vector<double>& done_s() const { return done_s_; }
  /// The photos that were read, done or not.
  std::size_t looked_at() const { return looked_at_; }

 private:
  void done(PhotoFaces photo) {
    done_s_.push_back(clock_.seconds());
    on_photo_(std::move(photo));
  }

  struct Photo {
    std::size_t faces = 0;  // that it has
    PhotoFaces known;
  };

  const std::function<void(PhotoFaces)>& on_photo_;
  std::mutex mutex_;
  std::map<std::size_t, Photo> waiting_;
  std::vector<double> done_s_;
  std::size_t looked_at_ = 0;
  const Stopwatch clock_;
};

std::uint64_t content_of(const std::filesystem::path& file) {
  return hash_text(read_file(file));
}

std::uint64_t content_of(const data::Pictures& pictures, std::size_t index) {
  const auto time_s = pictures.time_s(index);
  if (!time_s) return content_of(pictures.source(index));
  const data::Pictures::Video* const video = pictures.video_of(index);
  const std::string source = video != nullptr ? std::to_string(video->frames->content()) : pictures.source(index);
  return hash_text(source + "@" + std::to_string(*time_s));
}

FacesJob::FacesJob(const FacesOptions& options)
    : options_(options), on_cpu_(std::ranges::all_of(options.plan.replicas, [](const placement::PlanReplica& replica) {
        return replica.stages.front().device.kind == DeviceKind::kCpu;
      })) {
  const std::string engine = engine::usual_runner_engine(on_cpu_ ? DeviceKind::kCpu : DeviceKind::kCuda);
  engine_ = engine::open_engine(engine);
  if (options.plan.replicas.size() > 1 && !on_cpu_) {
    throw UsageError("faces are found on one GPU or on CPUs, not on both together yet; use --on cpu or --on cuda:0");
  }
  engine::RunnerOptions runner;
  runner.device = options.plan.replicas.front().stages.front().device;
  // A photo for each thread: they never wait for each other.
  const int lanes = on_cpu_ ? threads_of(options.plan) : 1;
  runner.threads = lanes;
  runner.cache = options.cache;
  runner.precision = options.precision;
  FaceDetectors detectors = make_face_detectors(*engine_, options.detector, runner, lanes);
  detectors_ = std::move(detectors.lanes);
  detector_notes_ = std::move(detectors.notes);
  embedder_.emplace(*engine_, options.embedder, runner, lanes);
  if (options.margin >= static_cast<double>(std::min(embedder_->face_shape().height, embedder_->face_shape().width))) {
    throw UsageError(fmt::format("--margin {} leaves nothing of faces of {} x {} pixels", options.margin,
                                 embedder_->face_shape().width, embedder_->face_shape().height));
  }
  give_back_freed_memory();
}

FacesJob::~FacesJob() = default;

std::vector<std::string> FacesJob::notes() const {
  std::vector<std::string> notes = detector_notes_;
  notes.insert(notes.end(), embedder_->notes().begin(), embedder_->notes().end());
  return notes;
}

bool FacesJob::prepare(const data::Picture& photo, Found& found) const {
  const data::ImageShape& shape = embedder_->face_shape();
  found.prepared.resize(shape.bytes());
  if (embedder_->cut() == FaceCut::kUpright) {
    align_face(photo, found.face.face.landmarks, shape, found.prepared);
  } else {
    const auto face = crop_face(photo, found.face.face.box, shape.height, shape.width, options_.margin);
    if (!face) return false;
    data::write_planes(*face, shape.channels, found.prepared);
  }
  const auto portrait =
      crop_face(photo, portrait_of(photo, found.face.face.box), kThumbnailSide, kThumbnailSide, /*margin=*/0);
  if (!portrait) return false;
  found.face.thumbnail = data::encode_jpeg(*portrait, kThumbnailQuality);
  found.face.thumbnail.shrink_to_fit();
  return true;
}

void FacesJob::fit_into_memory(const data::Pictures& photos, const std::vector<std::size_t>& which) {
  if (options_.memory_bytes == 0) return;
  // All at once, as in the run: memory of a single call may be freed when it ends.
  std::vector<std::future<void>> calls;
  for (std::size_t lane = 0; lane < lanes(); ++lane) {
    calls.push_back(std::async(std::launch::async, as_this_work([this, lane] {
                                 embedder_->embed({}, static_cast<int>(lane));
                                 detectors_[lane]->look_at_nothing();
                               })));
  }
  for (auto& call : calls) call.get();
  const ProcessMemory now = process_memory();
  std::string largest;
  std::uint64_t largest_bytes = 0;
  for (std::size_t i = 0; i < which.size(); i += 1 + which.size() / kLookedAtFirst) {
    try {
      if (photos.video_of(which[i]) != nullptr) continue;
      const std::string& name = photos.source(which[i]);
      const std::string file = data::read_image_file(name);
      const std::uint64_t bytes = decoding_bytes(data::read_picture_header(file), file.size(), options_.turn);
      if (bytes <= largest_bytes) continue;
      largest = name;
      largest_bytes = bytes;
    } catch (const Error&) {  // told when its turn comes to be read
    }
  }
  const std::uint64_t beside = now.resident_bytes + kBesidePhotosBytes;
  const std::uint64_t least = std::max(now.peak_bytes, beside + largest_bytes);
  if (options_.memory_bytes < least) {
    const std::uint64_t megabytes = least / 1'000'000 + 1;
    throw UsageError(fmt::format(
        "--memory {} is too little: the program with its networks takes {} ({} while they were loaded), tables and "
        "thumbnails {}{}. The least that works is --memory {}MB",
        bytes_text(options_.memory_bytes), bytes_text(now.resident_bytes), bytes_text(now.peak_bytes),
        bytes_text(kBesidePhotosBytes),
        largest.empty() ? "" : fmt::format(", and a look at {} {}", printable(largest), bytes_text(largest_bytes)),
        megabytes));
  }
  room_ = std::make_unique<PhotoRoom>(options_.memory_bytes - beside);
}

std::vector<FacesJob::Found> FacesJob::find(data::Picture photo, std::size_t index, int worker) {
  FaceDetector& detector = *detectors_[static_cast<std::size_t>(worker)];
  TurnedPhoto seen{std::move(photo), {}, 0};
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
    Found one{{index, face, {}, {}}, {}};
    if (!prepare(seen.photo, one)) continue;
    one.face.face = turned_back(face, seen.quarters, seen.photo.width, seen.photo.height);
    found.push_back(std::move(one));
  }
  return found;
}

DetectorTimes FacesJob::detector_times() const {
  DetectorTimes sum;
  for (const auto& detector : detectors_) {
    sum.main_s += detector->times().main_s;
    sum.other_s += detector->times().other_s;
  }
  return sum;
}

FacesResult FacesJob::run(const data::Pictures& photos, const std::vector<std::size_t>& which,
                          const std::function<void(PhotoFaces)>& on_photo,
                          const std::function<void(const FacesChunk&)>& on_chunk) {
  std::size_t next = 0;
  Gathering gathering(on_photo);
  const int lanes = static_cast<int>(detectors_.size());
  const DetectorTimes before = detector_times();
  room_->forget();
  const bool is_live = photos.live() != nullptr;
  const std::size_t batch = is_live ? 1 : embedder_->batch();  // a camera's next face may never come
  ChunkMeter meter(lanes, options_.chunk, on_chunk);
  const auto next_index = [&]() -> std::optional<std::size_t> {
    if (is_live) return photos.has(next) ? std::optional(next++) : std::nullopt;
    return next < which.size() ? std::optional(which[next++]) : std::nullopt;
  };
  // Two workers share a thread: one looks at photos, one embeds. Where threads are fewer than cores they take turns, so
  // that no more cores are used; all cores are kept busier without.
  Slots turns(on_cpu_ && lanes < usable_cores() ? lanes : 2 * lanes);
  const auto find_faces = [&](std::size_t index, int worker) {
    const bool is_frame = is_live || photos.video_of(index) != nullptr;
    const PhotoRoom::Entered entered =
        is_frame ? PhotoRoom::Entered() : room_->enter(photos.source(index), options_.turn);
    const std::scoped_lock turn(turns);
    meter.begin(worker);
    const std::uint64_t content = is_frame ? content_of(photos, index) : hash_text(entered.file);
    std::vector<Found> found =
        find(is_frame ? photos.read(index) : data::decode_image_file(entered.file), index, worker);
    meter.end(worker, found.size());
    gathering.expect(index, content, found.size());
    return found;
  };
  const auto embed = [&](std::vector<Found> faces, int worker) {
    std::vector<std::span<const std::uint8_t>> prepared;
    for (const Found& face : faces) prepared.emplace_back(face.prepared);
    std::vector<std::vector<float>> vectors;
    {
      const std::scoped_lock turn(turns);
      vectors = embedder_->embed(prepared, worker);
    }
    std::vector<EmbeddedFace> embedded;
    for (std::size_t i = 0; i < faces.size(); ++i) {
      // A copy lies beside it when all are compared.
      room_->keep(sizeof(EmbeddedFace) + 2 * vectors[i].size() * sizeof(float));
      embedded.push_back(std::move(faces[i].face));
      embedded.back().embedding = std::move(vectors[i]);
    }
    return embedded;
  };
  const auto failure = options_.strict ? parallel::OnFailure::kEndFlow : parallel::OnFailure::kSetAside;
  // The source has no name for a face, only for its photo.
  const auto name_of = [&](const std::size_t& index) { return photos.source(index); };
  parallel::Flow flow =
      parallel::flow_from<std::size_t>({.name = "list"}, next_index, name_of)
          .expand({.name = "find faces",
                   .workers = lanes,
                   .capacity = is_live ? 1 : parallel::FlowStep().capacity,
                   .on_failure = failure},
                  find_faces)
          .batch(batch)
          .expand({.name = "embed", .workers = lanes, .capacity = 4 * batch}, embed)
          .into({.name = "keep", .capacity = 2 * batch}, [&](EmbeddedFace face) { gathering.add(std::move(face)); });
  const Stopwatch clock;
  try {
    flow.run();
  } catch (const Interrupted&) {
    meter.finish();
    if (!is_live) throw;
  } catch (...) {
    meter.finish();
    throw;
  }
  meter.finish();
  FacesResult result;
  result.was_stopped = is_live && stop_requested();
  result.seconds = clock.seconds();
  result.done_s = gathering.done_s();
  result.photos = gathering.looked_at();
  result.flow = flow.report();
  for (const auto& item : result.flow.set_aside) result.skipped.push_back({item.name, item.reason});
  result.detector_times = detector_times();
  result.detector_times.main_s -= before.main_s;
  result.detector_times.other_s -= before.other_s;
  return result;
}

}  // namespace evener::faces

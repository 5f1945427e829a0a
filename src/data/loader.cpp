#include "data/loader.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <variant>

#include "base/error.h"
#include "base/phase.h"
#include "base/random.h"
#include "base/this_work.h"

namespace evener::data {

namespace {

/// A batch that owns its memory.
struct BatchMemory {
  /// ImageChanges of its images.
  struct Changes {
    std::vector<ImageMove> moves;
    std::vector<ColourChange> colours;
  };
  std::vector<std::uint32_t> samples, partners;
  std::vector<std::uint8_t> images;
  TargetStore targets;
  Changes changes, partner_changes;

  Batch view(const ImageShape& shape, std::uint64_t epoch) const;
};

void make_room_for(const AugmentOptions& options, std::size_t count, BatchMemory::Changes& changes) {
  changes.moves.resize(options.has_moves() ? count : 0);
  changes.colours.resize(options.colour > 0 ? count : 0);
}

/// Reads samples into the memory of a batch, and augments them on the way.
class SampleReader {
 public:
  /// `pixels`: LoaderOptions::pixels. Throws as Loader's constructor does.
  SampleReader(std::shared_ptr<const Dataset> dataset, Augmentation augmentation, bool pixels)
      : dataset_(std::move(dataset)), augmentation_(std::move(augmentation)), pixels_(pixels) {
    const AugmentOptions& changes = augmentation_.options;
    if (changes.mixup > 0 && dataset_->target_kind() != TargetKind::kClasses) {
      throw UsageError("--augment mixup mixes the classes of images, but the data has boxes; leave mixup out");
    }
    if ((changes.mosaic > 0 || changes.iou_crop) && dataset_->target_kind() != TargetKind::kBoxes) {
      throw UsageError(
          "--augment mosaic and iou-crop are for data with boxes, but the data has classes; leave them out");
    }
    if ((changes.mixup > 0 || changes.mosaic > 0) && augmentation_.partners.empty()) {
      throw Error("mixup and mosaics have no samples to mix with");
    }
    for (const std::uint32_t partner : augmentation_.partners) {
      if (partner < dataset_->size()) continue;
      throw Error("sample " + std::to_string(partner) + " is to be mixed in, but the data has " +
                  std::to_string(dataset_->size()));
    }
    if (const std::string names = done_on_host(changes); !pixels && !names.empty()) {
      throw Error("augmentation needs the pixels of images: " + names);
    }
  }

  /// Makes room for all that read() writes for the samples of `batch`.
  void make_room(BatchMemory& batch) const {
    const AugmentOptions& options = augmentation_.options;
    const std::size_t count = batch.samples.size();
    const bool is_mixed = options.mixup > 0;
    batch.images.resize(pixels_ ? count * dataset_->shape().bytes() : 0);
    batch.targets.reset(dataset_->target_kind(), is_mixed, count);
    if (pixels_) return;
    batch.partners.resize(is_mixed ? count : 0);
    make_room_for(options, count, batch.changes);
    make_room_for(options, batch.partners.size(), batch.partner_changes);
  }

  /// Reads the sample at `place` of the batch, augmented as in `epoch`. Threads may read different places at once.
  void read(std::size_t place, std::uint64_t epoch, BatchMemory& batch) const {
    if (!pixels_) {
      read_targets(place, epoch, batch);
      return;
    }
    const std::uint32_t sample = batch.samples[place];
    const std::size_t bytes = dataset_->shape().bytes();
    const auto chw = std::span(batch.images).subspan(place * bytes, bytes);
    if (dataset_->target_kind() == TargetKind::kBoxes) {
      batch.targets.set(place, read_boxed(sample, epoch, chw));
      return;
    }
    batch.targets.set(place, dataset_->targets(sample));
    read_augmented(sample, epoch, chw);
    if (augmentation_.options.mixup > 0) mix(place, epoch, batch, chw);
  }

 private:
  /// Reads the targets and draws the augmentation of a sample, without its pixels.
  void read_targets(std::size_t place, std::uint64_t epoch, BatchMemory& batch) const {
    const AugmentOptions& options = augmentation_.options;
    const std::uint32_t sample = batch.samples[place];
    SampleTargets targets = dataset_->targets(sample);
    if (!options.any()) {
      batch.targets.set(place, std::move(targets));
      return;
    }
    const PhaseMark mark(Phase::kAugment);
    if (auto* boxes = std::get_if<std::vector<LabelledBox>>(&targets)) {
      augment_boxes(options, dataset_->shape(), augmentation_.seed, epoch, sample, *boxes);
    }
    batch.targets.set(place, std::move(targets));
    draw_changes(place, sample, epoch, batch.changes);
    if (options.mixup == 0) return;
    const Mixture mixture = mixture_of(sample, epoch);
    batch.partners[place] = mixture.partner;
    draw_changes(place, mixture.partner, epoch, batch.partner_changes);
    batch.targets.mix(place, label_of(*dataset_, mixture.partner), mixture.weight);
  }

  void draw_changes(std::size_t place, std::uint32_t sample, std::uint64_t epoch, BatchMemory::Changes& changes) const {
    const AugmentOptions& options = augmentation_.options;
    if (options.has_moves()) changes.moves[place] = draw_move(options, augmentation_.seed, epoch, sample);
    if (options.colour == 0) return;
    changes.colours[place] = draw_colours(options, dataset_->shape(), augmentation_.seed, epoch, sample);
  }

  void read_augmented(std::uint32_t sample, std::uint64_t epoch, std::span<std::uint8_t> chw) const {
    dataset_->read(sample, chw);
    if (!augmentation_.options.any()) return;
    const PhaseMark mark(Phase::kAugment);
    augment_image(augmentation_.options, dataset_->shape(), augmentation_.seed, epoch, sample, chw);
  }

  /// An image and its boxes, both changed alike.
  SampleTargets read_boxed(std::uint32_t sample, std::uint64_t epoch, std::span<std::uint8_t> chw) const {
    const AugmentOptions& options = augmentation_.options;
    std::vector<LabelledBox> boxes;
    Mosaic mosaic;
    if (options.mosaic > 0 &&
        draw_mosaic(options.mosaic, augmentation_.partners, augmentation_.seed, epoch, sample, mosaic)) {
      boxes = read_mosaic(mosaic, chw);
    } else {
      dataset_->read(sample, chw);
      boxes = std::get<std::vector<LabelledBox>>(dataset_->targets(sample));
    }
    if (!options.any()) return boxes;
    const PhaseMark mark(Phase::kAugment);
    augment_image(options, dataset_->shape(), augmentation_.seed, epoch, sample, chw, boxes);
    augment_boxes(options, dataset_->shape(), augmentation_.seed, epoch, sample, boxes);
    return boxes;
  }

  std::vector<LabelledBox> read_mosaic(const Mosaic& mosaic, std::span<std::uint8_t> chw) const {
    std::vector<LabelledBox> boxes;
    thread_local std::vector<std::uint8_t> image;
    image.resize(chw.size());
    for (std::size_t corner = 0; corner < mosaic.samples.size(); ++corner) {
      const std::uint32_t sample = mosaic.samples[corner];
      dataset_->read(sample, image);
      const auto own = std::get<std::vector<LabelledBox>>(dataset_->targets(sample));
      const PhaseMark mark(Phase::kAugment);
      paste_into_mosaic(mosaic, corner, dataset_->shape(), image, chw);
      add_to_mosaic(mosaic, corner, dataset_->shape(), own, boxes);
    }
    return boxes;
  }

  Mixture mixture_of(std::uint32_t sample, std::uint64_t epoch) const {
    return draw_mixture(augmentation_.options.mixup, augmentation_.partners, augmentation_.seed, epoch, sample);
  }

  /// Mixes another sample, changed by its own random numbers, into an image.
  void mix(std::size_t place, std::uint64_t epoch, BatchMemory& batch, std::span<std::uint8_t> chw) const {
    const Mixture mixture = mixture_of(batch.samples[place], epoch);
    thread_local std::vector<std::uint8_t> other;
    other.resize(chw.size());
    read_augmented(mixture.partner, epoch, other);
    const PhaseMark mark(Phase::kAugment);
    mix_images(mixture.weight, other, chw);
    batch.targets.mix(place, label_of(*dataset_, mixture.partner), mixture.weight);
  }

  std::shared_ptr<const Dataset> dataset_;
  Augmentation augmentation_;
  bool pixels_;
};

Batch BatchMemory::view(const ImageShape& shape, std::uint64_t epoch) const {
  const auto of = [](const Changes& of_images) { return ImageChanges{of_images.moves, of_images.colours}; };
  return {static_cast<std::int64_t>(samples.size()),
          shape,
          images,
          targets.view(),
          samples,
          epoch,
          of(changes),
          partners,
          of(partner_changes)};
}

/// Threads that share a batch take it in pieces of no less than this: less is copied before another thread has woken.
constexpr std::size_t kPiece_bytes = std::size_t{64} << 10;
/// Pieces for each thread, so that none has much to wait for at the end where images take differently long.
constexpr std::size_t kPiecesOfThread = 4;

/// One batch in the ring. Filled piece by piece by whoever claims them, in their order; read by the consumer once it is
/// ready.
struct Slot {
  BatchMemory batch;
  std::size_t claimed = 0;  // samples that somebody has read or is reading
  int reading = 0;          // pieces that are being read
  std::exception_ptr failure;
  std::size_t failed_place = 0;  // of the sample whose failure that is

  std::size_t count() const { return batch.samples.size(); }
  bool is_ready() const { return claimed == count() && reading == 0; }
};

}  // namespace

std::vector<std::uint32_t> epoch_order(std::span<const std::uint32_t> samples, std::uint64_t seed,
                                       std::uint64_t epoch) {
  std::vector<std::uint32_t> order =
      permutation(static_cast<std::uint32_t>(samples.size()), Random(seed, Purpose::kOrder, epoch));
  for (std::uint32_t& place : order) place = samples[place];
  return order;
}

/// The ring holds the batches [served, served + slots): batch b in slot b % slots. `mutex` guards all but the contents
/// of pieces that are being read.
struct Loader::State {
  std::shared_ptr<const Dataset> dataset;
  std::int64_t batch = 0;
  bool pixels = true;
  SampleReader reader;
  std::vector<Slot> slots;

  std::mutex mutex;
  std::condition_variable work_to_do, batch_ready;
  std::vector<std::uint32_t> order;
  std::uint64_t epoch = 0;
  std::vector<std::vector<Stretch>> parts;  // one for each batch that was named
  std::size_t begun = 0;                    // next batch that nobody reads yet
  Slot* open = nullptr;                     // of batch begun - 1, while some of its samples are claimed by nobody
  std::size_t served = 0;                   // batch that the consumer asks for next
  bool holding = false;                     // the consumer still looks at batch served - 1
  int reading = 0;                          // pieces that are being read
  bool ending = false;
  Batch view;
  std::size_t readers = 1;  // the threads, and the consumer, who reads instead of waiting
  std::vector<std::jthread> threads;

  State(std::shared_ptr<const Dataset> data, LoaderOptions options)
      : dataset(data),
        batch(options.batch),
        pixels(options.pixels),
        reader(std::move(data), std::move(options.augmentation), options.pixels) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State();

  bool can_begin() const { return begun < parts.size() && begun < served - (holding ? 1 : 0) + slots.size(); }
  Slot& slot_of(std::size_t index) { return slots[index % slots.size()]; }
  void work();
  void begin_batch();
  std::size_t piece_of(std::size_t count) const;
  void read_piece(std::unique_lock<std::mutex>& lock);
};

Loader::State::~State() {
  {
    const std::lock_guard lock(mutex);
    ending = true;
  }
  work_to_do.notify_all();
  threads.clear();  // joins
}

/// Opens the next batch for all threads to read. Call with the lock held, and only if can_begin().
void Loader::State::begin_batch() {
  const std::size_t index = begun++;
  Slot& slot = slot_of(index);
  slot.batch.samples.clear();
  for (const auto [begin, end] : std::exchange(parts[index], {})) {
    slot.batch.samples.insert(slot.batch.samples.end(), order.begin() + begin, order.begin() + end);
  }
  slot.claimed = 0;
  slot.failure = nullptr;
  try {
    reader.make_room(slot.batch);
  } catch (...) {
    slot.failure = std::current_exception();
    slot.claimed = slot.count();
  }
  if (slot.claimed == slot.count()) return;
  open = &slot;
  if (piece_of(slot.count()) < slot.count()) work_to_do.notify_all();
}

/// How many samples of a batch a thread reads before it looks for other work.
std::size_t Loader::State::piece_of(std::size_t count) const {
  if (readers == 1 || !pixels) return count;
  const std::size_t pieces = kPiecesOfThread * readers;
  return std::max((count + pieces - 1) / pieces, kPiece_bytes / dataset->shape().bytes() + 1);
}

/// Reads a piece of the open batch. Call with the lock held; it is released meanwhile.
void Loader::State::read_piece(std::unique_lock<std::mutex>& lock) {
  Slot& slot = *open;
  const std::size_t begin = slot.claimed;
  slot.claimed = std::min(begin + piece_of(slot.count()), slot.count());
  const std::size_t end = slot.claimed;
  if (end == slot.count()) open = nullptr;
  ++slot.reading;
  ++reading;
  lock.unlock();
  std::exception_ptr failure;
  std::size_t place = begin;
  try {
    for (; place < end; ++place) reader.read(place, epoch, slot.batch);
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  --slot.reading;
  --reading;
  if (failure) {
    // The error of the first sample that failed: all samples before it are claimed already.
    if (!slot.failure || place < slot.failed_place) {
      slot.failure = failure;
      slot.failed_place = place;
    }
    slot.claimed = slot.count();
    if (open == &slot) open = nullptr;
  }
  if (slot.is_ready() || reading == 0) batch_ready.notify_one();  // who drops a batch waits for its pieces alone
}

void Loader::State::work() {
  std::unique_lock lock(mutex);
  while (true) {
    work_to_do.wait(lock, [this] { return ending || open != nullptr || can_begin(); });
    if (ending) return;
    if (open == nullptr) begin_batch();
    if (open != nullptr) read_piece(lock);
  }
}

Loader::Loader(std::shared_ptr<const Dataset> dataset, LoaderOptions options) {
  if (options.batch < 1) throw UsageError("a batch needs at least one sample, not " + std::to_string(options.batch));
  const int threads = options.threads, prefetch = options.prefetch;
  state_ = std::make_unique<State>(std::move(dataset), std::move(options));
  // One slot more than is prefetched: the batch the consumer looks at.
  state_->slots.resize(static_cast<std::size_t>(std::max(prefetch, 1)) + 1);
  state_->readers = static_cast<std::size_t>(std::max(threads, 0)) + 1;
  for (int i = 0; i < threads; ++i) {
    state_->threads.emplace_back(as_this_work([state = state_.get()] { state->work(); }));
  }
}

Loader::~Loader() = default;

void Loader::start(std::vector<std::uint32_t> order, std::uint64_t epoch, std::int64_t first_batch) {
  const auto count = static_cast<std::int64_t>(order.size());
  start_parts(std::move(order), epoch);
  const std::lock_guard lock(state_->mutex);
  for (std::int64_t begin = 0; begin < count; begin += state_->batch) {
    state_->parts.push_back({{begin, std::min(begin + state_->batch, count)}});
  }
  state_->served = state_->begun = static_cast<std::size_t>(std::max<std::int64_t>(first_batch, 0));
  state_->work_to_do.notify_all();
}

void Loader::start_parts(std::vector<std::uint32_t> order, std::uint64_t epoch) {
  for (const std::uint32_t sample : order) {
    if (sample >= state_->dataset->size()) {
      throw Error("sample " + std::to_string(sample) + " asked for, but the data has " +
                  std::to_string(state_->dataset->size()));
    }
  }
  std::unique_lock lock(state_->mutex);
  state_->parts.clear();  // nothing more is claimed of what was being served
  state_->open = nullptr;
  state_->batch_ready.wait(lock, [this] { return state_->reading == 0; });
  state_->order = std::move(order);
  state_->epoch = epoch;
  state_->served = state_->begun = 0;
  state_->holding = false;
}

void Loader::add_part(std::vector<Stretch> stretches) {
  const std::lock_guard lock(state_->mutex);
  for (const auto [begin, end] : stretches) {
    if (begin >= 0 && begin <= end && end <= std::ssize(state_->order)) continue;
    throw Error("samples " + std::to_string(begin) + " to " + std::to_string(end) + " asked for, but the order has " +
                std::to_string(state_->order.size()));
  }
  state_->parts.push_back(std::move(stretches));
  state_->work_to_do.notify_one();
}

const Batch* Loader::next() {
  const PhaseMark mark(Phase::kRead);
  State& state = *state_;
  std::unique_lock lock(state.mutex);
  state.holding = false;
  if (state.served >= state.parts.size()) return nullptr;
  Slot& slot = state.slot_of(state.served);
  // Pieces that no thread has claimed are read here, which is quicker than to wake a thread and wait for it.
  while (state.begun == state.served || !slot.is_ready()) {
    if (state.begun == state.served) {
      state.begin_batch();
    } else if (state.open == &slot) {
      state.read_piece(lock);
    } else {
      state.batch_ready.wait(lock);
    }
  }
  if (slot.failure) std::rethrow_exception(slot.failure);
  ++state.served;
  state.holding = true;
  state.work_to_do.notify_one();
  state.view = slot.batch.view(state.dataset->shape(), state.epoch);
  return &state.view;
}

}  // namespace evener::data

#include "data/loader.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/phase.h"
#include "base/random.h"
#include "base/this_work.h"
#include "data/mosaic.h"

namespace evener::data {

std::vector<std::uint32_t> epoch_order(std::span<const std::uint32_t> samples, std::uint64_t seed,
                                       std::uint64_t epoch) {
  std::vector<std::uint32_t> order =
      permutation(static_cast<std::uint32_t>(samples.size()), Random(seed, Purpose::kOrder, epoch));
  for (std::uint32_t& place : order) place = samples[place];
  return order;
}

namespace {

/// One batch in the ring. Filled by whoever claimed it, read by the consumer once it is ready.
struct Slot {
  std::vector<std::uint8_t> images;
  TargetStore targets;
  std::vector<std::uint32_t> samples;
  std::exception_ptr failure;
  bool ready = false;
};

}  // namespace

/// The ring holds the batches [served, served + slots): batch b in slot b % slots. `mutex` guards all but the contents
/// of claimed slots.
struct Loader::State {
  std::shared_ptr<const Dataset> dataset;
  std::int64_t batch = 0;
  bool pixels = true;
  Augmentation augmentation;
  std::vector<Slot> slots;

  std::mutex mutex;
  std::condition_variable work_to_do, batch_ready;
  std::vector<std::uint32_t> order;
  std::uint64_t epoch = 0;
  std::vector<std::vector<Stretch>> parts;  // one for each batch that was named
  std::size_t claimed = 0;                  // next batch that nobody assembles yet
  std::size_t served = 0;                   // batch that the consumer asks for next
  bool holding = false;                     // the consumer still looks at batch served - 1
  int assembling = 0;                       // slots being filled
  bool ending = false;
  Batch view;
  std::vector<std::jthread> threads;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State();

  bool can_claim() const { return claimed < parts.size() && claimed < served - (holding ? 1 : 0) + slots.size(); }
  void work();
  void claim_and_assemble(std::unique_lock<std::mutex>& lock);
  void assemble(const std::vector<Stretch>& part, Slot& slot) const;
  void read_augmented(std::uint32_t sample, std::span<std::uint8_t> chw) const;
  SampleTargets read_boxed(std::uint32_t sample, std::span<std::uint8_t> chw) const;
  std::vector<LabelledBox> read_mosaic(const Mosaic& mosaic, std::span<std::uint8_t> chw) const;
  void mix(std::size_t place, Slot& slot, std::span<std::uint8_t> chw) const;
};

Loader::State::~State() {
  {
    const std::lock_guard lock(mutex);
    ending = true;
  }
  work_to_do.notify_all();
  threads.clear();  // joins
}

void Loader::State::assemble(const std::vector<Stretch>& part, Slot& slot) const {
  slot.samples.clear();
  for (const auto [begin, end] : part) {
    slot.samples.insert(slot.samples.end(), order.begin() + begin, order.begin() + end);
  }
  const std::size_t count = slot.samples.size();
  const std::size_t bytes = dataset->shape().bytes();
  slot.images.resize(pixels ? count * bytes : 0);
  const bool is_mixed = augmentation.options.mixup > 0;
  slot.targets.reset(dataset->target_kind(), is_mixed, count);
  for (std::size_t i = 0; i < count; ++i) {
    if (!pixels) {
      slot.targets.set(i, dataset->targets(slot.samples[i]));
      continue;
    }
    const auto chw = std::span(slot.images).subspan(i * bytes, bytes);
    if (dataset->target_kind() == TargetKind::kBoxes) {
      slot.targets.set(i, read_boxed(slot.samples[i], chw));
      continue;
    }
    slot.targets.set(i, dataset->targets(slot.samples[i]));
    read_augmented(slot.samples[i], chw);
    if (is_mixed) mix(i, slot, chw);
  }
}

void Loader::State::read_augmented(std::uint32_t sample, std::span<std::uint8_t> chw) const {
  dataset->read(sample, chw);
  if (!augmentation.options.any()) return;
  const PhaseMark mark(Phase::kAugment);
  augment_image(augmentation.options, dataset->shape(), augmentation.seed, epoch, sample, chw);
}

/// An image and its boxes, both changed alike.
SampleTargets Loader::State::read_boxed(std::uint32_t sample, std::span<std::uint8_t> chw) const {
  const AugmentOptions& options = augmentation.options;
  std::vector<LabelledBox> boxes;
  Mosaic mosaic;
  if (options.mosaic > 0 &&
      draw_mosaic(options.mosaic, augmentation.partners, augmentation.seed, epoch, sample, mosaic)) {
    boxes = read_mosaic(mosaic, chw);
  } else {
    dataset->read(sample, chw);
    boxes = std::get<std::vector<LabelledBox>>(dataset->targets(sample));
  }
  if (!options.any()) return boxes;
  const PhaseMark mark(Phase::kAugment);
  augment_image(options, dataset->shape(), augmentation.seed, epoch, sample, chw, boxes);
  augment_boxes(options, dataset->shape(), augmentation.seed, epoch, sample, boxes);
  return boxes;
}

std::vector<LabelledBox> Loader::State::read_mosaic(const Mosaic& mosaic, std::span<std::uint8_t> chw) const {
  std::vector<LabelledBox> boxes;
  thread_local std::vector<std::uint8_t> image;
  image.resize(chw.size());
  for (std::size_t corner = 0; corner < mosaic.samples.size(); ++corner) {
    const std::uint32_t sample = mosaic.samples[corner];
    dataset->read(sample, image);
    const auto own = std::get<std::vector<LabelledBox>>(dataset->targets(sample));
    const PhaseMark mark(Phase::kAugment);
    paste_into_mosaic(mosaic, corner, dataset->shape(), image, chw);
    add_to_mosaic(mosaic, corner, dataset->shape(), own, boxes);
  }
  return boxes;
}

/// Mixes another sample, changed by its own random numbers, into an image.
void Loader::State::mix(std::size_t place, Slot& slot, std::span<std::uint8_t> chw) const {
  const Mixture mixture =
      draw_mixture(augmentation.options.mixup, augmentation.partners, augmentation.seed, epoch, slot.samples[place]);
  thread_local std::vector<std::uint8_t> other;
  other.resize(chw.size());
  read_augmented(mixture.partner, other);
  const PhaseMark mark(Phase::kAugment);
  mix_images(mixture.weight, other, chw);
  slot.targets.mix(place, label_of(*dataset, mixture.partner), mixture.weight);
}

/// With the lock held and can_claim(): assembles the next batch, without the lock meanwhile.
void Loader::State::claim_and_assemble(std::unique_lock<std::mutex>& lock) {
  const std::size_t index = claimed++;
  Slot& slot = slots[index % slots.size()];
  const std::vector<Stretch> part = std::move(parts[index]);  // nobody else claims it
  slot.ready = false;
  slot.failure = nullptr;
  ++assembling;
  lock.unlock();
  std::exception_ptr failure;
  try {
    assemble(part, slot);
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  --assembling;
  slot.failure = failure;
  slot.ready = true;
  batch_ready.notify_one();
}

void Loader::State::work() {
  std::unique_lock lock(mutex);
  while (true) {
    work_to_do.wait(lock, [this] { return ending || can_claim(); });
    if (ending) return;
    claim_and_assemble(lock);
  }
}

Loader::Loader(std::shared_ptr<const Dataset> dataset, LoaderOptions options) : state_(std::make_unique<State>()) {
  if (options.batch < 1) throw UsageError("a batch needs at least one sample, not " + std::to_string(options.batch));
  if (options.augmentation.options.mixup > 0 && dataset->target_kind() != TargetKind::kClasses) {
    throw UsageError("--augment mixup mixes the classes of images, but the data has boxes; leave mixup out");
  }
  const AugmentOptions& changes = options.augmentation.options;
  if ((changes.mosaic > 0 || changes.iou_crop) && dataset->target_kind() != TargetKind::kBoxes) {
    throw UsageError("--augment mosaic and iou-crop are for data with boxes, but the data has classes; leave them out");
  }
  if ((changes.mixup > 0 || changes.mosaic > 0) && options.augmentation.partners.empty()) {
    throw Error("mixup and mosaics have no samples to mix with");
  }
  for (const std::uint32_t partner : options.augmentation.partners) {
    if (partner < dataset->size()) continue;
    throw Error("sample " + std::to_string(partner) + " is to be mixed in, but the data has " +
                std::to_string(dataset->size()));
  }
  if (!options.pixels && options.augmentation.options.any()) throw Error("augmentation needs the pixels of images");
  state_->dataset = std::move(dataset);
  state_->pixels = options.pixels;
  state_->augmentation = std::move(options.augmentation);
  state_->batch = options.batch;
  // One slot more than is prefetched: the batch the consumer looks at.
  state_->slots.resize(static_cast<std::size_t>(std::max(options.prefetch, 1)) + 1);
  for (int i = 0; i < options.threads; ++i) {
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
  state_->served = state_->claimed = static_cast<std::size_t>(std::max<std::int64_t>(first_batch, 0));
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
  state_->batch_ready.wait(lock, [this] { return state_->assembling == 0; });
  state_->order = std::move(order);
  state_->epoch = epoch;
  state_->served = state_->claimed = 0;
  state_->holding = false;
  for (Slot& slot : state_->slots) slot.ready = false;
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
  Slot& slot = state.slots[state.served % state.slots.size()];
  // A batch that nobody has begun is assembled here: quicker than to wake a thread and wait for it.
  if (state.claimed == state.served) {
    state.claim_and_assemble(lock);
  } else {
    state.batch_ready.wait(lock, [&slot] { return slot.ready; });
  }
  if (slot.failure) std::rethrow_exception(slot.failure);
  ++state.served;
  state.holding = true;
  state.work_to_do.notify_one();
  state.view = {static_cast<std::int64_t>(slot.samples.size()),
                state.dataset->shape(),
                slot.images,
                slot.targets.view(),
                slot.samples,
                state.epoch};
  return &state.view;
}

}  // namespace evener::data

#include "engine/torch/shared_parameters.h"

#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>

#include <algorithm>

#include "base/precision.h"

namespace evener::engine::torch_engine {
namespace {

/// In values: parameters and the parts of replicas begin at multiples of it, so that no two replicas write to one cache
/// line.
constexpr std::int64_t kUnit = 64;
/// Number of values that are updated at once, few enough for the summed gradients to be still in the cache.
constexpr std::int64_t kPiece = 32 * 1024;

std::int64_t whole_units(std::int64_t values) {
  return (values + kUnit - 1) / kUnit * kUnit;
}

}  // namespace

std::size_t shared_bytes(const network::Network& network, const TrainerOptions& options, int replicas) {
  const OptimizerOptions& optimizer = options.optimizer;
  if (options.device.kind != DeviceKind::kCpu || options.torch.like_accelerator) return 0;
  if (options.precision == Precision::kFp16 || optimizer.clip_norm != 0 || optimizer.average_decay != 0) return 0;
  std::int64_t values = 0;
  for (const auto& parameter : network.parameters()) {
    if (parameter.rate != 1) return 0;
    if (parameter.trained) values += whole_units(element_count(parameter.shape));
  }
  const auto arrays = static_cast<std::size_t>(1 + optimizer_slots(optimizer) + replicas);
  return static_cast<std::size_t>(values) * sizeof(float) * arrays;
}

SharedParameters::SharedParameters(const SharedArrays& memory, const std::vector<at::Tensor>& like, std::size_t slots)
    : memory_(memory), like_(like), first_gradients_(1 + slots) {
  for (const auto& tensor : like_) {
    offsets_.push_back(size_);
    size_ += whole_units(tensor.numel());
  }
}

float* SharedParameters::array(std::size_t index) const {
  return reinterpret_cast<float*>(memory_.bytes.data()) + static_cast<std::int64_t>(index) * size_;
}

at::Tensor SharedParameters::view(std::size_t index, const Range& range) const {
  return at::from_blob(array(index) + range.begin, {range.count}, at::kFloat);
}

std::vector<at::Tensor> SharedParameters::views(std::size_t index) const {
  std::vector<at::Tensor> views;
  for (std::size_t i = 0; i < like_.size(); ++i) {
    views.push_back(at::from_blob(array(index) + offsets_[i], like_[i].sizes(), like_[i].strides(), at::kFloat));
  }
  return views;
}

/// Divides the values [begin, end) into pieces. No piece crosses the border of a parameter: LibTorch's kernels round
/// the last values, which don't fill a vector, differently, and these have to be the same values as when a replica
/// updates whole parameters alone.
std::vector<SharedParameters::Range> SharedParameters::pieces(std::int64_t begin, std::int64_t end) const {
  std::vector<Range> pieces;
  for (std::size_t i = 0; i < like_.size(); ++i) {
    const std::int64_t stop = std::min(end, offsets_[i] + like_[i].numel());
    for (std::int64_t at = std::max(begin, offsets_[i]); at < stop; at += kPiece) {
      pieces.push_back({at, std::min(kPiece, stop - at)});
    }
  }
  return pieces;
}

/// The sum of the members' gradients, in the order of their ranks; in `room` unless there is only one member.
at::Tensor SharedParameters::sum(std::span<const int> members, const Range& range, const at::Tensor& room) const {
  const auto of = [&](std::size_t member) {
    return view(first_gradients_ + static_cast<std::size_t>(members[member]), range);
  };
  if (members.size() == 1) return of(0);
  at::Tensor sum = room.narrow(0, 0, range.count);
  at::add_out(sum, of(0), of(1));
  for (std::size_t member = 2; member < members.size(); ++member) sum.add_(of(member));
  return sum;
}

void SharedParameters::for_each_piece(std::span<const int> members,
                                      const std::function<void(const Piece&)>& visit) const {
  const auto parts = static_cast<std::int64_t>(members.size()), units = size_ / kUnit;
  const std::int64_t index = std::ranges::find(members, memory_.replica) - members.begin();
  at::parallel_for(units * index / parts, units * (index + 1) / parts, kPiece / kUnit,
                   [&](std::int64_t begin, std::int64_t end) {
                     const c10::NoGradGuard no_grad;  // the guard is per thread
                     const at::Tensor room = at::empty({kPiece}, at::kFloat);
                     for (const Range& range : pieces(begin * kUnit, end * kUnit)) {
                       Piece piece{view(0, range), sum(members, range, room), {}};
                       for (std::size_t slot = 1; slot < first_gradients_; ++slot) {
                         piece.slots.push_back(view(slot, range));
                       }
                       visit(piece);
                     }
                   });
}

}  // namespace evener::engine::torch_engine

#include "engine/torch/loss.h"

namespace evener::engine::torch_engine {
namespace {

constexpr std::int64_t kIgnoreNone = -100;

}  // namespace

at::Tensor loss_sum(Loss loss, double smoothing, const at::Tensor& logits, const at::Tensor& labels) {
  if (loss == Loss::kCrossEntropy) {
    return at::cross_entropy_loss(logits, labels, {}, at::Reduction::Sum, kIgnoreNone, smoothing);
  }
  const at::Tensor target = at::one_hot(labels, logits.size(1)).to(at::kFloat);
  return at::mse_loss(logits, target, at::Reduction::Sum) / logits.size(1);
}

at::Tensor mixed_loss_sum(Loss loss, double smoothing, const at::Tensor& logits, const at::Tensor& labels,
                          const at::Tensor& second_labels, const at::Tensor& first_part) {
  const at::Tensor second_part = 1 - first_part;
  if (loss == Loss::kCrossEntropy) {
    const at::Tensor of_first = at::cross_entropy_loss(logits, labels, {}, at::Reduction::None, kIgnoreNone, smoothing);
    const at::Tensor of_second =
        at::cross_entropy_loss(logits, second_labels, {}, at::Reduction::None, kIgnoreNone, smoothing);
    return (of_first * first_part + of_second * second_part).sum();
  }
  const at::Tensor target = at::one_hot(labels, logits.size(1)) * first_part.unsqueeze(1) +
                            at::one_hot(second_labels, logits.size(1)) * second_part.unsqueeze(1);
  return at::mse_loss(logits, target, at::Reduction::Sum) / logits.size(1);
}

BatchResult result_of(const at::Tensor& loss, const at::Tensor& found, const at::Tensor& labels) {
  BatchResult result;
  result.loss_sum = loss.item<double>();
  result.correct = found.eq(labels).sum().item<std::int64_t>();
  result.count = labels.size(0);
  return result;
}

BatchResult append_found(const at::Tensor& logits, const at::Tensor& loss, const at::Tensor& labels,
                         std::vector<std::int32_t>* predicted) {
  const at::Tensor found = logits.argmax(1);
  if (predicted != nullptr) {
    const at::Tensor host = found.to(at::kCPU);
    const std::int64_t* classes = host.const_data_ptr<std::int64_t>();
    predicted->insert(predicted->end(), classes, classes + host.numel());
  }
  return result_of(loss, found, labels);
}

}  // namespace evener::engine::torch_engine

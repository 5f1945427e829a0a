#include "task/labels/cross_validation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "base/stop.h"

namespace evener::task {
namespace {

constexpr std::array<double, 3> kDecays = {0.01, 0.1, 1};
/// Features of so many samples are fitted in moments.
constexpr std::size_t kFewValues = 20'000'000;

FeatureTable without_fold(const FeatureTable& table, std::span<const std::uint32_t> folds, std::uint32_t left_out) {
  FeatureTable rest;
  rest.values = table.values;
  for (std::size_t i = 0; i < table.samples(); ++i) {
    if (folds[i] == left_out) continue;
    const float* const row = table.features.data() + i * table.values;
    rest.features.insert(rest.features.end(), row, row + table.values);
    rest.labels.push_back(table.labels[i]);
  }
  return rest;
}

void write_probabilities(const LinearFit& fit, std::span<const float> features, std::span<float> probabilities) {
  for (std::size_t c = 0; c < probabilities.size(); ++c) {
    double sum = double{fit.bias[c]};
    const float* const weights = fit.weight.data() + c * features.size();
    for (std::size_t i = 0; i < features.size(); ++i) sum += double{weights[i]} * double{features[i]};
    probabilities[c] = static_cast<float>(sum);
  }
  const float largest = *std::ranges::max_element(probabilities);
  double total = 0;
  for (float& value : probabilities) {
    value = std::exp(value - largest);
    total += double{value};
  }
  for (float& value : probabilities) value = static_cast<float>(double{value} / total);
}

class Validation {
 public:
  Validation(const FeatureTable& table, std::size_t classes, std::span<const std::uint32_t> folds, int threads,
             const data::Progress& progress)
      : table_(table),
        classes_(classes),
        folds_(folds),
        count_(1 + *std::ranges::max_element(folds)),
        threads_(threads),
        progress_(progress) {}

  CrossValidation run() {
    const bool is_small = table_.samples() * table_.values <= kFewValues;
    const std::uint32_t tried = is_small ? count_ : 1;
    fits_ = kDecays.size() * tried + (is_small ? 0 : count_ - 1);
    CrossValidation best;
    for (const double decay : kDecays) {
      CrossValidation one = empty(decay);
      double loss = 0;
      for (std::uint32_t fold = 0; fold < tried; ++fold) loss += validate(fold, one);
      one.loss = loss;
      if (best.decay == 0 || one.loss < best.loss) best = std::move(one);
    }
    for (std::uint32_t fold = tried; fold < count_; ++fold) best.loss += validate(fold, best);
    best.loss /= static_cast<double>(table_.samples());
    best.accuracy /= static_cast<double>(table_.samples());
    return best;
  }

 private:
  CrossValidation empty(double decay) const {
    CrossValidation one{{}, decay, 0, 0};
    one.probabilities.classes = classes_;
    one.probabilities.values.resize(table_.samples() * classes_);
    return one;
  }

  /// Returns the sum of the fold's losses, and adds the right answers to `to.accuracy`.
  double validate(std::uint32_t fold, CrossValidation& to) {
    if (stop_requested()) throw Interrupted("interrupted while heads were fitted; nothing was written");
    const LinearFit fit = fit_softmax(without_fold(table_, folds_, fold), classes_, to.decay, threads_);
    std::vector<std::size_t> members;
    for (std::size_t i = 0; i < table_.samples(); ++i) {
      if (folds_[i] == fold) members.push_back(i);
    }
    data::for_each_index(members.size(), threads_, [&](std::size_t at) {
      const std::size_t i = members[at];
      write_probabilities(fit, std::span(table_.features).subspan(i * table_.values, table_.values),
                          std::span(to.probabilities.values).subspan(i * classes_, classes_));
    });
    double loss = 0;
    for (const std::size_t i : members) {
      const std::span<const float> of = to.probabilities.of(i);
      const auto label = static_cast<std::size_t>(table_.labels[i]);
      loss -= std::log(std::max(1e-12, double{of[label]}));
      to.accuracy += static_cast<std::size_t>(std::ranges::max_element(of) - of.begin()) == label ? 1 : 0;
    }
    if (progress_) progress_(++done_, fits_);
    return loss;
  }

  const FeatureTable& table_;
  const std::size_t classes_;
  const std::span<const std::uint32_t> folds_;
  const std::uint32_t count_;
  const int threads_;
  const data::Progress& progress_;
  std::size_t done_ = 0, fits_ = 0;
};

}  // namespace

CrossValidation cross_validate(const FeatureTable& table, std::size_t classes, std::span<const std::uint32_t> folds,
                               int threads, const data::Progress& progress) {
  return Validation(table, classes, folds, threads, progress).run();
}

}  // namespace evener::task

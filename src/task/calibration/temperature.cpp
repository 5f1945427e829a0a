#include "task/calibration/temperature.h"

#include <algorithm>
#include <cmath>

namespace evener::task {
namespace {

constexpr double kMostTemperature = 50;

/// First and second derivative of the loss, by the inverse temperature.
struct Slopes {
  double first = 0, second = 0;
};

/// The expectation of the logits under the softmax at `inverse` must become that under the wanted distribution.
Slopes slopes_at(const LogitTable& table, double inverse, double allowance) {
  Slopes sum;
  for (std::size_t i = 0; i < table.images(); ++i) {
    const float* const logits = table.row(i);
    const double largest = *std::max_element(logits, logits + table.classes);
    double weights = 0, mean = 0, squares = 0, plain = 0;
    for (std::size_t c = 0; c < table.classes; ++c) {
      const double z = logits[c] - largest;  // differences alone count
      const double weight = std::exp(inverse * z);
      weights += weight;
      mean += weight * z;
      squares += weight * z * z;
      plain += z;
    }
    mean /= weights;
    const double truth = logits[table.labels[i]] - largest;
    const double wanted = (1 - allowance) * truth + allowance * plain / static_cast<double>(table.classes);
    sum.first += mean - wanted;
    sum.second += squares / weights - mean * mean;
  }
  return sum;
}

}  // namespace

LogitTable LogitTable::rows(const std::vector<std::uint32_t>& images) const {
  LogitTable chosen{.classes = classes, .logits = {}, .labels = {}};
  for (const std::uint32_t image : images) {
    chosen.logits.insert(chosen.logits.end(), row(image), row(image) + classes);
    chosen.labels.push_back(labels[image]);
  }
  return chosen;
}

double fit_temperature(const LogitTable& table) {
  if (table.images() == 0 || table.classes < 2) return 1;
  const double allowance = 1 / (static_cast<double>(table.images()) + 2);
  double low = 1 / kMostTemperature, high = kMostTemperature, inverse = 1;
  constexpr int kMostSteps = 200;
  for (int step = 0; step < kMostSteps && high - low > 1e-12 * high; ++step) {
    const Slopes slopes = slopes_at(table, inverse, allowance);
    if (slopes.first == 0) break;
    (slopes.first > 0 ? high : low) = inverse;
    const double newton = slopes.second > 0 ? inverse - slopes.first / slopes.second : 0;
    const double next = newton > low && newton < high ? newton : std::sqrt(low * high);
    if (std::abs(next - inverse) <= 1e-12 * inverse) break;
    inverse = next;
  }
  return 1 / inverse;
}

double negative_log_likelihood(const LogitTable& table, double temperature) {
  double sum = 0;
  for (std::size_t i = 0; i < table.images(); ++i) {
    const float* const logits = table.row(i);
    const double largest = *std::max_element(logits, logits + table.classes);
    double weights = 0;
    for (std::size_t c = 0; c < table.classes; ++c) weights += std::exp((logits[c] - largest) / temperature);
    sum += std::log(weights) - (logits[table.labels[i]] - largest) / temperature;
  }
  return table.images() == 0 ? 0 : sum / static_cast<double>(table.images());
}

}  // namespace evener::task

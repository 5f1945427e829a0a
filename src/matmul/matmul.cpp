#include "matmul/matmul.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/module.h"
#include "base/names.h"
#include "base/plural.h"
#include "base/random.h"
#include "base/statistics.h"
#include "base/stop.h"

namespace evener::matmul {
namespace {

/// A sample of the time is not shorter: the clock and the start of a call cost nothing beside it.
constexpr double kSample_s = 0.01;

std::size_t values_of(std::int64_t size) {
  return static_cast<std::size_t>(size) * static_cast<std::size_t>(size);
}

/// The nearest value that bfloat16 has, of a finite one.
float rounded_to_bfloat16(float value) {
  auto bits = std::bit_cast<std::uint32_t>(value);
  bits += 0x7fff + ((bits >> 16) & 1);
  return std::bit_cast<float>(bits & 0xffff0000U);
}

/// Uniform in [-1, 1), in steps of 2^-23.
std::vector<float> random_matrix(const MatmulOptions& options, std::uint64_t which) {
  std::vector<float> values(values_of(options.size));
  Random random(options.seed, Purpose::kSynthetic, which);
  const bool short_values = options.precision == Precision::kBf16;
  for (std::size_t i = 0; i < values.size(); i += 2) {
    const std::uint64_t bits = random.next();
    const auto value = [](std::uint64_t word) { return static_cast<float>(word & 0xffffff) * 0x1p-23F - 1; };
    values[i] = value(bits);
    if (i + 1 < values.size()) values[i + 1] = value(bits >> 32);
  }
  if (short_values) std::ranges::transform(values, values.begin(), rounded_to_bfloat16);
  return values;
}

std::vector<double> times_vector(std::span<const float> matrix, std::span<const double> vector) {
  const std::size_t size = vector.size();
  std::vector<double> sums(size);
  for (std::size_t row = 0; row < size; ++row) {
    const float* values = matrix.data() + row * size;
    double parts[4] = {};  // one alone would wait for its own additions
    std::size_t i = 0;
    for (; i + 4 <= size; i += 4) {
      for (std::size_t k = 0; k < 4; ++k) parts[k] += static_cast<double>(values[i + k]) * vector[i + k];
    }
    for (; i < size; ++i) parts[0] += static_cast<double>(values[i]) * vector[i];
    sums[row] = parts[0] + parts[1] + parts[2] + parts[3];
  }
  return sums;
}

}  // namespace

ProductCheck check_product(std::span<const float> a, std::span<const float> b, std::span<const float> c,
                           std::int64_t size, bool rounded_to_bf16, std::uint64_t seed) {
  const auto n = static_cast<std::size_t>(size);
  std::vector<double> signs(n);
  Random random(seed, Purpose::kBootstrap);
  for (double& sign : signs) sign = random.below(2) == 0 ? -1 : 1;
  const std::vector<double> wanted = times_vector(a, times_vector(b, signs)), found = times_vector(c, signs);
  // Units of rounding: half of the last place. A product of two values uniform in [-1, 1) has the variance 1/9, the
  // k-th partial sum k/9; each is rounded by up to a unit of itself, all together by N / sqrt(18) units: N / 4 is more.
  constexpr double kUnit = 0x1p-24, kShortUnit = 0x1p-8, kDeviations = 8;
  const double drift = kUnit * static_cast<double>(size) / 4, last = rounded_to_bf16 ? kShortUnit : kUnit;
  ProductCheck worst;
  double worst_share = -1;
  for (std::size_t row = 0; row < n; ++row) {
    double squares = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double error = last * std::abs(static_cast<double>(c[row * n + i])) + drift;
      squares += error * error;
    }
    const double difference = std::abs(found[row] - wanted[row]), allowed = kDeviations * std::sqrt(squares);
    const bool is_number = std::isfinite(difference);
    const double share = is_number ? difference / allowed : std::numeric_limits<double>::infinity();
    if (share <= worst_share) continue;
    worst_share = share;
    worst = {static_cast<std::int64_t>(row), difference, is_number ? allowed : 0};
    if (!is_number) worst.difference = std::numeric_limits<double>::infinity();
  }
  return worst;
}

void keep_worse(const ProductCheck& found, MatmulResult& result) {
  if (result.check.allowed == 0 || found.difference / found.allowed > result.check.difference / result.check.allowed) {
    result.check = found;
  }
}

MatmulJob::MatmulJob(const MatmulOptions& options) : options_(options) {
  choose_engine();
  require_memory();
  a_ = random_matrix(options_, 0);
  b_ = random_matrix(options_, 1);
  c_.resize(a_.size());
  product_ = engine_->make_matrix_product(matrix_options());
}

MatmulJob::~MatmulJob() = default;

engine::MatrixOptions MatmulJob::matrix_options() const {
  return {.device = options_.stage.device,
          .cpus = options_.stage.cpus,
          .threads = std::max(1, options_.stage.threads),
          .precision = options_.precision,
          .size = options_.size};
}

/// LibTorch where it can, which knows no OpenCL and may not be built; else our own kernels.
void MatmulJob::choose_engine() {
  std::vector<std::string> names = {options_.engine};
  if (options_.engine == "auto") {
    names = options_.stage.device.kind == DeviceKind::kOpencl ? std::vector<std::string>{"native"}
                                                              : std::vector<std::string>{"torch", "native"};
  }
  std::string refusals;
  for (const std::string& name : names) {
    if (names.size() > 1 && module_status(name).state != ModuleState::kUsable) {
      refusals +=
          (refusals.empty() ? "" : "; ") + ("the engine '" + name + "' can't be used: " + module_status(name).reason);
      continue;
    }
    auto engine = engine::open_engine(name);
    const std::string refusal = engine->matrix_refusal(matrix_options());
    if (refusal.empty()) {
      engine_name_ = name;
      engine_ = std::move(engine);
      return;
    }
    refusals += (refusals.empty() ? "" : "; ") + refusal;
  }
  throw UsageError(refusals);
}

std::uint64_t MatmulJob::memory_bytes() const {
  // A device of OpenCL may be a processor, whose memory is the host's.
  const int copies = options_.stage.device.kind == DeviceKind::kOpencl ? 2 : 1;
  return copies * 3 * sizeof(float) * values_of(options_.size) + engine::copied_matrix_bytes(matrix_options());
}

void MatmulJob::require_memory() const {
  const auto needed = static_cast<double>(memory_bytes());
  const auto available = static_cast<double>(memory_limits().available_bytes);
  if (needed <= available) return;
  const auto fits = static_cast<std::int64_t>(static_cast<double>(options_.size) * std::sqrt(0.9 * available / needed));
  throw Error(
      fmt::format("two matrices of {0} x {0} and their product take {1} in {2}, and {3} are available; N = {4} "
                  "would fit: use it, or close other programs",
                  options_.size, bytes_text(memory_bytes()), precision_name(options_.precision),
                  bytes_text(static_cast<std::uint64_t>(available)), std::max<std::int64_t>(1, fits)));
}

double MatmulJob::flops() const {
  const auto n = static_cast<double>(options_.size);
  return 2 * n * n * n;
}

engine::MatrixTimes MatmulJob::multiply() {
  return product_->multiply(a_, b_, c_);
}

/// Throws where it failed, keeps the worse of two.
void MatmulJob::check(MatmulResult& result) const {
  const ProductCheck found = check_product(a_, b_, c_, options_.size, product_->rounds_product(), options_.seed);
  if (!found.passed()) {
    throw Error(
        fmt::format("the product on {} ({}) is wrong: in row {} it differs from a (b x) by {:.3g}, and rounding "
                    "explains {:.3g}; the device or its library doesn't compute right",
                    device_text(options_.stage.device), method(), found.row, found.difference, found.allowed));
  }
  keep_worse(found, result);
}

MatmulResult MatmulJob::run(const std::function<void(std::int64_t done, double seconds)>& on_product) {
  MatmulResult result;
  // What is not written stays no number, and fails the test.
  std::ranges::fill(c_, std::numeric_limits<float>::quiet_NaN());
  on_product(0, 0);
  multiply();  // takes memory, wakes threads
  check(result);
  std::vector<double> to_s, from_s;
  double all_s = 0;
  const Stopwatch clock;
  while (std::ssize(result.product_s) < options_.repeats || clock.seconds() < options_.seconds) {
    double sum_s = 0;
    for (std::int64_t i = 0; i < result.products_in_sample; ++i) {
      if (stop_requested()) {
        throw Interrupted("interrupted after " + counted(result.products, "timed product") + " of " +
                          fmt::format("{0} x {0}", options_.size));
      }
      const engine::MatrixTimes times = multiply();
      sum_s += times.product_s;
      if (times.h2d_s) to_s.push_back(*times.h2d_s);
      if (times.d2h_s) from_s.push_back(*times.d2h_s);
      ++result.products;
      on_product(result.products, all_s += times.product_s);
    }
    // The first ones show how many make up a sample.
    if (result.product_s.empty() && sum_s < kSample_s && result.products_in_sample < (1 << 20)) {
      const double each_s = std::max(sum_s / static_cast<double>(result.products_in_sample), 1e-7);
      result.products_in_sample =
          std::max(2 * result.products_in_sample, static_cast<std::int64_t>(std::ceil(kSample_s / each_s)));
      result.products = 0;
      continue;
    }
    result.product_s.push_back(sum_s / static_cast<double>(result.products_in_sample));
  }
  check(result);
  result.h2d_s = median(to_s);
  result.d2h_s = median(from_s);
  return result;
}

}  // namespace evener::matmul

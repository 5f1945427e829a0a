#include "job/matmul/record.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/names.h"
#include "base/plural.h"
#include "base/statistics.h"
#include "record/metric.h"
#include "record/statistics.h"

namespace evener::job {
namespace {

using record::Metric;

std::vector<double> rates_of(const DeviceProducts& products) {
  std::vector<double> rates;
  for (const double seconds : products.result.product_s) rates.push_back(products.flops / seconds / 1e9);
  return rates;
}

Metric speed_of(const DeviceProducts& products) {
  const std::vector<double> rates = rates_of(products);
  const std::int64_t each = products.result.products_in_sample;
  return {.name = "gflops",
          .unit = "GFLOP/s",
          .title = "GFLOP/s",
          .label = "speed of products",
          .role = record::MetricRole::kSpeed,
          .value = median(rates),
          .samples = rates,
          .interval = record::median_interval(rates),
          .over = each == 1 ? "products" : fmt::format("blocks of {} products", each)};
}

Metric seconds_metric(const char* name, const char* title, const char* label, std::optional<double> value) {
  return {.name = name,
          .unit = "s",
          .title = title,
          .label = label,
          .better = record::Better::kLower,
          .value = value,
          .reason = value ? "" : "the processor computes where the matrices lie"};
}

std::optional<double> share_of_peak(const DeviceProducts& products) {
  const std::optional<double> rate = median(rates_of(products));
  if (!rate || !products.peak.gflops) return std::nullopt;
  return *rate / *products.peak.gflops;
}

std::string share_text(const DeviceProducts& products) {
  const std::optional<double> share = share_of_peak(products);
  if (!share) return "not known: " + products.peak.reason;
  return fmt::format("{:.1f} % of {}, {}", 100 * *share, gflops_text(*products.peak.gflops), products.peak.of);
}

std::string line(const char* title, const std::string& text) {
  return fmt::format("  {:<22}  {}\n", title, text);
}

}  // namespace

void fill_products(record::Record& record, const DeviceProducts& products, bool several) {
  const task::MatmulResult& result = products.result;
  std::vector<Metric> metrics = {
      speed_of(products),
      {.name = "peak_share",
       .unit = "share",
       .title = "of the peak",
       .label = "share of the peak",
       .value = share_of_peak(products),
       .reason = products.peak.reason},
      seconds_metric("product_s", "s/product", "time of a product", median(result.product_s)),
      seconds_metric("h2d_s", "", "time of the factors' way to the device", result.h2d_s),
      seconds_metric("d2h_s", "", "time of the product's way back", result.d2h_s),
      {.name = "check_difference_of_allowed",
       .unit = "",
       .title = "",
       .label = "largest difference of a row from the true product, of what rounding explains",
       .better = record::Better::kLower,
       .role = record::MetricRole::kQuality,
       .value = result.check.difference / result.check.allowed}};
  for (Metric& metric : metrics) {
    if (several) {
      std::string suffix = products.name;
      std::ranges::replace(suffix, ':', '_');
      metric.name += "_" + suffix;
      if (!metric.title.empty()) metric.title += " " + products.name;
      metric.label += " on " + products.name;
    }
    record::add_metric(record, std::move(metric));
  }
}

std::string products_text(const DeviceProducts& products) {
  const task::MatmulResult& result = products.result;
  const Metric speed = speed_of(products);
  const auto& stage = products.stage;
  std::string text = fmt::format("{} ({}{}), {}\n", products.name, stage.device_name,
                                 stage.device.kind == DeviceKind::kCpu ? ", " + counted(stage.threads, "thread") : "",
                                 products.method);
  text += line("speed", fmt::format("{} ({})", gflops_text(*speed.value), record::spread_text(speed)));
  text += line("of the peak", share_text(products));
  text += line("a product", duration_text(*median(result.product_s)));
  if (result.h2d_s && result.d2h_s) {
    text += line("to the device, back", duration_text(*result.h2d_s) + ", " + duration_text(*result.d2h_s));
  }
  text += line("check", fmt::format("right: rows differ by {:.2g} at most, {:.0f} % of what rounding may do",
                                    result.check.difference, 100 * result.check.difference / result.check.allowed));
  return text;
}

}  // namespace evener::job

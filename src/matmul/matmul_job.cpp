#include "matmul/matmul_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/error.h"
#include "base/module.h"
#include "base/names.h"
#include "base/plural.h"
#include "base/statistics.h"
#include "base/version.h"
#include "measure/run/metered_run.h"
#include "measure/run/progress.h"
#include "placement/machine.h"
#include "placement/placement.h"
#include "record/metric.h"
#include "record/record_json.h"
#include "record/statistics.h"

namespace evener::matmul {
namespace {

using record::Metric;

/// One device after the other computes, so each CPU stage is alone on its cores.
placement::Plan matmul_plan(const std::string& text) {
  const placement::Placement asked = placement::parse(text);
  if (asked.automatic) {
    throw UsageError(
        "matmul tells each device apart, so --on auto has nothing to choose; name them, such as cpu+cuda:0");
  }
  placement::Plan plan =
      placement::make_plan(asked, placement::machine_for(asked), {.replicas = placement::ReplicasAs::kThreads});
  for (const auto& replica : plan.replicas) {
    if (replica.stages.size() > 1) {
      throw UsageError("'" + text + "' divides layers over devices, and a product has none; use +, as in cpu+cuda:0");
    }
    if (replica.stages.front().factor < 1) {
      throw UsageError("'" + text + "' emulates a slower device, whose speed matmul would not measure; leave @ out");
    }
  }
  return plan;
}

class Products {
 public:
  Products(const MatmulFlags& flags, measure::Observer& observer)
      : flags_(flags), observer_(observer), plan_(matmul_plan(*flags.product.on)), run_(run_options(flags), observer) {}

  MatmulRun run() {
    MatmulRun result;
    result.record = run_.measure(
        [&] {
          measure_all(result.products);
          return run_.record();
        },
        measure::SampledFrom::kBegin);
    result.folder = run_.folder();
    return result;
  }

 private:
  void measure_all(std::vector<DeviceProducts>& all) {
    std::map<std::string, int> seen;
    for (const auto& replica : plan_.replicas) {
      const placement::PlanStage& stage = replica.stages.front();
      DeviceProducts products{.stage = stage, .name = device_text(stage.device)};
      if (const int number = ++seen[products.name]; number > 1) products.name += "_" + std::to_string(number);
      const double begin_s = run_.session_s();
      const MatmulOptions options = matmul_options(flags_, stage);
      MatmulJob job(options);
      products.engine = job.engine();
      products.method = job.method();
      products.flops = job.flops();
      products.peak = measure::peak_rate(stage.device, stage.threads, stage.cpus, options.precision);
      init_s_ += run_.session_s() - begin_s;
      if (all.empty()) begin(products);
      observer_.note(fmt::format("{}: {}, {}", products.name, products.method, bytes_text(job.memory_bytes())));
      products.result = job.run([&](std::int64_t done, double seconds) { show(done, seconds); });
      observer_.finish();
      fill_products(run_.record(), products, plan_.replicas.size() > 1);
      all.push_back(std::move(products));
    }
    run_.record().times.init = init_s_;
    run_.take_times(run_.record());
  }

  void begin(const DeviceProducts& first) {
    record::Record& record = run_.record();
    nlohmann::json config = nlohmann::json::object();
    for (const OptionGroup* group : std::initializer_list<const OptionGroup*>{&flags_.product, &flags_.repeats}) {
      group->record(config);
    }
    record.config = record::config_from_json(config);
    record.seeds = {{"seed", *flags_.product.seed}};
    record.model.name = fmt::format("{0} x {0}", *flags_.product.size);
    record.model.forward_flops = static_cast<std::int64_t>(first.flops);
    record.data.location = "random matrices";
    record.placement = measure::placement_record(plan_);
    record.engine = first.engine;
    record.versions[first.engine] = module_status(first.engine).version;
    record.precision = *flags_.product.precision;
    record.fallbacks = plan_.fallbacks;
    for (const std::vector<std::string>* notes : {&plan_.warnings, &plan_.notes}) {
      for (const std::string& text : *notes) run_.note(text);
    }
    run_.begin();
  }

  void show(std::int64_t done, double seconds) {
    constexpr double kNextText_s = 10;
    if (done == 0) {
      pace_ = measure::RedrawPace(now_s());
      if (observer_.redraws()) observer_.show("a first product and its check, which don't count");
    }
    if (done == 0 || !pace_.is_due(observer_, kNextText_s)) return;
    const std::int64_t wanted = *flags_.repeats.repeats;
    const double left_s = seconds / static_cast<double>(done) * static_cast<double>(wanted - done);
    const std::string left =
        done < wanted ? fmt::format(" of {}, about {} left", wanted, measure::time_left_text(left_s)) : "";
    observer_.show(fmt::format("{}{}; so far {}", counted(done, "product"), left, duration_text(seconds)));
  }

  const MatmulFlags& flags_;
  measure::Observer& observer_;
  const placement::Plan plan_;
  measure::MeteredRun run_;
  double init_s_ = 0;
  measure::RedrawPace pace_;
};

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
  return fmt::format("{:.1f} % of {}, {}", 100 * *share, measure::gflops_text(*products.peak.gflops), products.peak.of);
}

std::string line(const char* title, const std::string& text) {
  return fmt::format("  {:<22}  {}\n", title, text);
}

}  // namespace

MatmulOptions matmul_options(const MatmulFlags& flags, const placement::PlanStage& stage) {
  return {.stage = stage,
          .engine = *flags.product.engine,
          .precision = parse_precision(*flags.product.precision),
          .size = *flags.product.size,
          .repeats = *flags.repeats.repeats,
          .seconds = *flags.repeats.seconds,
          .seed = *flags.product.seed};
}

measure::RunOptions run_options(const MatmulFlags& flags) {
  return {.kind = "matmul",
          .version = program_version(),
          .out = *flags.output.out,
          .overwrite = *flags.output.overwrite,
          .sample_interval_ms = *flags.repeats.sample_interval_ms,
          .json = *flags.output.json};
}

MatmulRun matmul(const MatmulFlags& flags, measure::Observer& observer, const StopFlag* stop) {
  const WorkScope scope(this_work_until(stop));
  return Products(flags, observer).run();
}

void fill_products(record::Record& record, const DeviceProducts& products, bool several) {
  const MatmulResult& result = products.result;
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
  const MatmulResult& result = products.result;
  const Metric speed = speed_of(products);
  const auto& stage = products.stage;
  std::string text = fmt::format("{} ({}{}), {}\n", products.name, stage.device_name,
                                 stage.device.kind == DeviceKind::kCpu ? ", " + counted(stage.threads, "thread") : "",
                                 products.method);
  text += line("speed", fmt::format("{} ({})", measure::gflops_text(*speed.value), record::spread_text(speed)));
  text += line("of the peak", share_text(products));
  text += line("a product", duration_text(*median(result.product_s)));
  if (result.h2d_s && result.d2h_s) {
    text += line("to the device, back", duration_text(*result.h2d_s) + ", " + duration_text(*result.d2h_s));
  }
  text += line("check", fmt::format("right: rows differ by {:.2g} at most, {:.0f} % of what rounding may do",
                                    result.check.difference, 100 * result.check.difference / result.check.allowed));
  return text;
}

MeasuredCommand measured_matmul() {
  MeasuredCommand command = measured_with(std::make_shared<MatmulFlags>(), "matmul");
  command.length = {.key = "seconds"};
  return command;
}

}  // namespace evener::matmul

// The JSON that page/sweep.js draws.
#include <nlohmann/json.hpp>

#include "report/format.h"
#include "report/html_parts.h"
#include "report/sweep_front.h"
#include "report/sweep_parts.h"

namespace evener::report {
namespace {

using SweepJson = nlohmann::ordered_json;

template <typename T>
SweepJson value_or_null(const std::optional<T>& value) {
  return value ? SweepJson(*value) : SweepJson(nullptr);
}

SweepJson mean_json(const record::MeanOfRuns& mean) {
  return {{"mean", value_or_null(mean.mean)},
          {"low", mean.range ? SweepJson(mean.range->low) : SweepJson(nullptr)},
          {"high", mean.range ? SweepJson(mean.range->high) : SweepJson(nullptr)}};
}

SweepJson cell_json(const Sweep& sweep, std::size_t n) {
  const SweepCellRuns& cell = sweep.cells[n];
  SweepJson figures = SweepJson::object();
  for (const SweepFigure& figure : cell.figures) {
    if (!figure.mean.mean) continue;
    SweepJson json = mean_json(figure.mean);
    json["values"] = SweepJson::array();
    json["blocks"] = SweepJson::array();
    for (const record::BlockValue& one : figure.values) {
      json["values"].push_back(one.value);
      json["blocks"].push_back(one.block);
    }
    json["text"] = mean_text(figure, false);
    if (is_of_energy(figure.metric)) json["class"] = record::energy_class_name(figure.energy);
    figures[figure.metric.name] = std::move(json);
  }
  return {{"name", cell.name},
          {"color", run_color(n)},
          {"values", cell.cell.values},
          {"figures", std::move(figures)},
          {"predicted", cell.cell.predicted ? SweepJson(cell.cell.predicted->images_per_s) : SweepJson(nullptr)},
          {"verdict", cell.claim.base ? verdict_word(cell.claim.verdict) : ""},
          {"speedup", value_or_null(cell.claim.speedup)}};
}

SweepJson block_mean_json(const std::optional<record::BlockMean>& mean) {
  if (!mean) return nullptr;
  SweepJson json = {{"mean", mean->mean}, {"low", nullptr}, {"high", nullptr}};
  if (mean->interval) {
    json["low"] = mean->interval->low;
    json["high"] = mean->interval->high;
  }
  return json;
}

SweepJson scaling_json(const SweepScaling& of) {
  SweepJson workers = SweepJson::array();
  for (const record::WorkersScaling& one : of.scaling.workers) {
    workers.push_back({{"workers", one.workers}, {"speedup", block_mean_json(one.speedup)}});
  }
  SweepJson fit = nullptr;
  if (of.scaling.fit) {
    fit = {{"serial", of.scaling.fit->serial_share}, {"low", nullptr}, {"high", nullptr}};
    if (of.scaling.share_interval) {
      fit["low"] = of.scaling.share_interval->low;
      fit["high"] = of.scaling.share_interval->high;
    }
  }
  return {{"name", of.name}, {"workers", std::move(workers)}, {"fit", std::move(fit)}};
}

}  // namespace

nlohmann::ordered_json sweep_plots_json(const Sweep& sweep) {
  SweepJson data;
  data["main"] = sweep.main_figure;
  data["figures"] = SweepJson::array();
  for (const record::Metric& metric : sweep_metrics(sweep)) {
    data["figures"].push_back({{"name", metric.name},
                               {"label", metric.label},
                               {"unit", metric.unit},
                               {"better", record::better_name(metric.better)},
                               {"role", record::role_name(metric.role)}});
  }
  data["axes"] = SweepJson::array();
  for (const record::SweepAxis& axis : sweep.record.axes) {
    if (axis.steps.size() < 2) continue;
    for (std::size_t n = 0; n < axis.names.size(); ++n) {
      SweepJson values = SweepJson::array();
      for (const auto& step : axis.steps) {
        if (std::find(values.begin(), values.end(), step[n]) == values.end()) values.push_back(step[n]);
      }
      data["axes"].push_back({{"name", axis.names[n]}, {"values", std::move(values)}});
    }
  }
  data["cells"] = SweepJson::array();
  for (std::size_t n = 0; n < sweep.cells.size(); ++n) data["cells"].push_back(cell_json(sweep, n));
  data["fronts"] = SweepJson::array();
  for (const FrontPlot& plot : front_plots(sweep)) {
    data["fronts"].push_back({{"x", plot.x}, {"y", plot.y}, {"front", front_of(sweep, plot.x, plot.y)}});
  }
  data["scalings"] = SweepJson::array();
  for (const SweepScaling& scaling : sweep.scalings) data["scalings"].push_back(scaling_json(scaling));
  data["reference"] = reference_plot_data(sweep.reference);
  return data;
}

std::string sweep_plot_data(const Sweep& sweep) {
  return sweep_plots_json(sweep).dump(-1, ' ', false, SweepJson::error_handler_t::replace);
}

}  // namespace evener::report

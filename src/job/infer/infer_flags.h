// The options of `evener infer`.
#pragma once

#include "bench/scenario.h"
#include "job/inference/inference_flags.h"
#include "job/options/option.h"
#include "job/options/run_flags.h"

namespace evener::job {

// Options about the scenario in which a system that answers queries is measured.

struct ScenarioFlags : OptionGroup {
  ScenarioFlags() : OptionGroup("Scenario") {}

  Option<std::string> scenario{*this,
                               {"--scenario", "NAME",
                                "Measure as MLPerf's LoadGen does: single-stream, multi-stream, server or offline "
                                "(docs/measuring.md; default: don't measure latency)"},
                               "",
                               {.in_plans = false}};
  Option<bool> quick{*this,
                     {"--quick", "", "Seconds: 5 s and as many queries as the percentile needs (default)"},
                     false,
                     {.in_plans = false}};
  Option<bool> full{*this, {"--full", "", "LoadGen's 600 s, and 24,576 samples offline"}, false, {.in_plans = false}};
  Option<double> latency_limit_ms{
      *this,
      {"--latency-limit", "MILLISECONDS", "Server: what the percentile of latency may be", {"--target-latency"}},
      100,
      {.range = more_than_zero(), .in_plans = false}};
  Option<std::optional<double>> target_rate{*this,
                                            {"--target-rate",
                                             "PER_SECOND",
                                             "Server: queries per second (default: search the highest rate that keeps "
                                             "the limit)",
                                             {"--target-qps"}},
                                            {},
                                            {.range = more_than_zero(), .in_plans = false}};
  Option<std::int64_t> samples_per_query{*this,
                                         {"--samples-per-query", "N", "Multi-stream: images of a query"},
                                         8,
                                         {.range = from_to(1, 1'000'000), .in_plans = false}};
  Option<std::optional<double>> percentile{
      *this,
      {"--percentile", "SHARE", "Of latency (default: 0.90 single-stream, 0.99 multi-stream and server)"},
      {},
      {.range = from_to(0.01, 0.9999), .in_plans = false}};
  Option<std::optional<double>> min_duration_s{
      *this,
      {"--min-duration", "SECONDS", "A run goes on at least so long (default: 5, with --full 600)"},
      {},
      {.range = zero_or_more(), .in_plans = false}};
  Option<std::string> seeds{*this,
                            {"--scenario-seeds", "N,N,N,N",
                             "Of the images that are asked for at all, of which each query asks for, of when queries "
                             "arrive, and of whose answers are kept"},
                            "1,2,3,4",
                            {.has_commas = true, .in_plans = false}};

  /// Whether a scenario was asked for.
  bool wanted() const { return !scenario->empty(); }
  /// The scenario that the options ask for, on `samples` samples; the caller sets lanes and batches. Throws UsageError.
  bench::ScenarioOptions scenario_options(std::int64_t samples) const;

 private:
  void check_together() const override;
};

/// Options about what is told of the predictions.
struct PredictionFlags : OutputFlags {
  PredictionFlags()
      : OutputFlags("Folder for predictions.csv and the record (default: none)",
                    "Write the record there; - is stdout, instead of predictions") {}

  Option<int> topk{
      *this, {"--topk", "N", "The likeliest classes of each image are told"}, 5, {.range = from_to(1, 1000000)}};
  Option<double> threshold{
      *this, {"--threshold", "P", "Classes that are less likely are not told"}, 0, {.range = from_to(0, 1)}};
  Option<std::string> output_type{
      *this,
      {"--output-type", "NAME", "prob or logit; auto: probabilities, made of scores unless they are such already"},
      "auto",
      {.one_of = {"auto", "prob", "logit"}}};
  Option<std::string> outputs{
      *this,
      {"--outputs", "KIND",
       "classes, or raw: all that the network gives of each image, into --out as OUTPUT.npy with files.txt"},
      "classes",
      {.one_of = {"classes", "raw"}}};
  Option<std::string> format{
      *this,
      {"--format", "NAME",
       "On stdout: table, csv, jsonl or none (default: table; of labelled data a summary, of random:N nothing)"},
      "",
      {.one_of = {"", "table", "csv", "jsonl", "none"}}};
  Option<std::string> features{
      *this, {"--features", "FILE", "Write what the last linear layer reads of each image (.safetensors)"}};
  Option<std::string> sort{*this,
                           {"--sort", "DIR",
                            "Put each photo into a folder for its class there, unsure ones into 'unsure', and those "
                            "like nothing trained on into 'unknown'; what is there already stays where it is"},
                           "",
                           {.recorded = false}};
  Option<std::string> sort_by{
      *this, {"--sort-by", "WAY", "link or copy"}, "link", {.one_of = {"link", "copy"}, .recorded = false}};
  Option<double> sort_threshold{*this,
                                {"--sort-threshold", "P", "Photos whose class is less likely go into 'unsure'"},
                                0.8,
                                {.range = from_to(0, 1), .recorded = false}};
  Option<bool> watch{
      *this, {"--watch", "", "Go on with photos that come to the folders, until Ctrl-C"}, false, {.recorded = false}};

  /// Whether pages show class activation maps; set by commands that want them.
  bool shows_maps = false;

  task::OutputType type() const;

 private:
  void check_together() const override;
};

struct InferFlags : InferenceFlags {
  PredictionFlags predictions;

  OptionSet options() { return {&model, &images, &videos, &placement, &predictions}; }
  std::vector<const OptionGroup*> groups() const { return {&model, &images, &videos, &placement, &predictions}; }
};

}  // namespace evener::job

// The options of `evener infer`.
#pragma once

#include "infer/scenarios/scenario.h"
#include "infer/session/options.h"
#include "options/option.h"
#include "options/run_flags.h"

namespace evener::inference {

// Options about the scenario in which a system that answers queries is measured.

struct ScenarioFlags : OptionGroup {
  ScenarioFlags() : OptionGroup("Scenario") {}

  Option<std::string> scenario{*this, "--scenario NAME", rules().not_in_plans(),
                               "Measure as MLPerf's LoadGen does: single-stream, multi-stream, server or offline "
                               "(docs/measuring.md; default: don't measure latency)"};
  Option<bool> quick{*this, "--quick", rules().not_in_plans(),
                     "Seconds: 5 s and as many queries as the percentile needs (default)"};
  Option<bool> full{*this, "--full", rules().not_in_plans(), "LoadGen's 600 s, and 24,576 samples offline"};
  Option<double> latency_limit_ms{*this, "--latency-limit MILLISECONDS", 100,
                                  within(more_than_zero()).called({"--target-latency"}).not_in_plans(),
                                  "Server: what the percentile of latency may be"};
  Option<std::optional<double>> target_rate{
      *this, "--target-rate PER_SECOND", within(more_than_zero()).called({"--target-qps"}).not_in_plans(),
      "Server: queries per second (default: search the highest rate that keeps the limit)"};
  Option<std::int64_t> samples_per_query{*this, "--samples-per-query N", 8,
                                         within(from_to(1, 1'000'000)).not_in_plans(),
                                         "Multi-stream: images of a query"};
  Option<std::optional<Percentage>> percentile{*this, "--percentile P%",
                                               within(percent_from_to(1, 99.99)).not_in_plans(),
                                               "Of latency (default: 90% single-stream, 99% multi-stream and server)"};
  Option<std::optional<double>> min_duration_s{*this, "--min-duration SECONDS", within(zero_or_more()).not_in_plans(),
                                               "A run goes on at least so long (default: 5, with --full 600)"};
  Option<std::string> seeds{*this, "--scenario-seeds N,N,N,N", "1,2,3,4", rules().with_commas().not_in_plans(),
                            "Of the images that are asked for at all, of which each query asks for, of when queries "
                            "arrive, and of whose answers are kept"};

  /// Whether a scenario was asked for.
  bool wanted() const { return !scenario->empty(); }
  /// The scenario that the options ask for, on `samples` samples; the caller sets lanes and batches. Throws UsageError.
  ScenarioOptions scenario_options(std::int64_t samples) const;

 private:
  void check_together() const override;
};

/// Options about what is told of the predictions.
struct PredictionFlags : OutputFlags {
  PredictionFlags()
      : OutputFlags("Folder for predictions.csv and the record (default: none)",
                    "Write the record there; - is stdout, instead of predictions") {}

  Option<int> topk{*this, "--topk N", 5, within(from_to(1, 1000000)), "The likeliest classes of each image are told"};
  Option<std::optional<double>> confidence{
      *this, "--confidence P", within(from_to(0, 1)).called({"--threshold", "--sort-threshold", "--conf"}),
      "Classes that are less likely are not told; photos whose class is, --sort puts into 'unsure' (default: 0; of "
      "--sort 0.8)"};
  Option<std::string> output_type{*this, "--output-type NAME", "auto", one_of({"auto", "prob", "logit"}),
                                  "prob or logit; auto and prob: probabilities, made of scores unless they are such "
                                  "already; prob: values from 0 to 1 are, whatever their sum"};
  Option<std::string> outputs{
      *this, "--outputs KIND", "classes", one_of({"classes", "raw"}),
      "classes, or raw: all that the network gives of each image, into --out as OUTPUT.npy with files.txt"};
  Option<std::string> format{
      *this, "--format NAME", one_of({"", "table", "csv", "jsonl", "none"}),
      "On stdout: table, csv, jsonl or none (default: table; of labelled data a summary, of random:N nothing)"};
  Option<std::string> features{*this, "--features FILE",
                               "Write what the last linear layer reads of each image (.safetensors)"};
  Option<std::string> sort{*this, "--sort DIR", rules().not_recorded(),
                           "Put each photo into a folder for its class there, unsure ones into 'unsure', and those "
                           "like nothing trained on into 'unknown'; what is there already stays where it is"};
  Option<std::string> sort_by{*this, "--sort-by WAY", "link", one_of({"link", "copy"}).not_recorded(), "link or copy"};
  Option<bool> watch{*this, "--watch", rules().not_recorded(),
                     "Go on with photos that come to the folders, until Ctrl-C"};

  /// Whether pages show class activation maps; set by commands that want them.
  bool shows_maps = false;

  OutputType type() const;
  /// The same where probabilities are needed, whatever is told.
  OutputType probability_type() const;

 private:
  void check_together() const override;
};

struct InferFlags : InferenceFlags {
  PredictionFlags predictions;

  OptionSet options() { return {&model, &images, &videos, &placement, &predictions}; }
  std::vector<const OptionGroup*> groups() const { return {&model, &images, &videos, &placement, &predictions}; }
};

}  // namespace evener::inference

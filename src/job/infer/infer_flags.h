// The options of `evener infer`.
#pragma once

#include "job/inference/inference_flags.h"
#include "job/options/run_flags.h"

namespace evener::job {

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

// Options about where a training computes, what a placement is chosen by, with which engine, and how its replicas work
// together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "options/option.h"
#include "options/placement_values.h"
#include "train/placements/goal.h"
#include "train/steps/train.h"

namespace evener::training {

struct PlacementFlags : OptionGroup {
  PlacementFlags();

  Option<std::string> on{
      *this, "--on PLACEMENT", "cpu",
      suggesting({"auto", "cpu", "cpu/t1", "2xcpu/t1", "cuda:0", "cuda:0+cpu", "cuda:all", "opencl"}),
      "cpu (all cores), cpu/t1, 2xcpu/t1, cuda:0+cpu, ..., or auto: the fastest of them (docs/placements.md)"};
  Option<std::string> precision{*this, "--precision NAME", "fp32",
                                suggesting({"fp32", "tf32", "bf16", "fp16"}).kept_as("precision", true),
                                "fp32, tf32 (as fp32 on CPUs), bf16 or fp16 with loss scaling (as bf16 on CPUs)"};
  Option<std::string> engine{*this, "--engine NAME", "auto", one_of({"auto", "torch", "native"}),
                             "auto (native for perceptrons on CPUs and OpenCL, otherwise torch), torch, or native: our "
                             "own kernels for multilayer perceptrons"};
  Option<std::string> kernels{*this, "--kernels NAME", "simd", one_of({"simd", "naive"}),
                              "Of the native engine: simd, or naive (plain loops, for comparison)"};
  Option<std::string> layout{*this, "--layout NAME", "auto", one_of({"auto", "nchw", "nhwc"}).kept_as("layout"),
                             "Memory layout of images: auto, nchw or nhwc"};
  Option<std::string> convolution{*this, "--convolution NAME", "auto", one_of({"auto", "direct", "winograd"}),
                                  "3x3 convolutions on CPUs: direct, winograd (a quarter of the multiplications), or "
                                  "auto (by their channels, and in bf16 where the processor can't multiply it)"};
  Option<std::string> data_on{
      *this, "--data-on NAME", "host", one_of({"host", "device"}),
      "Where a GPU takes its images from: host (a batch at a time), or device (all stay in its memory)"};
  Option<std::string> step_graph{*this, "--step-graph NAME", "auto", one_of({"auto", "off"}),
                                 "Whether a GPU replays whole steps as a CUDA graph: auto (where it can), or off"};
  Option<bool> deterministic{
      *this, "--deterministic",
      "The same run on the same GPUs gives the same bits, at the price of slower steps; on CPUs it does anyway"};
  Option<std::string> replicas{*this, "--replicas NAME", "auto", suggesting({"auto", "processes", "threads"}),
                               "Several replicas as processes or as threads, or auto"};
  Option<bool> oversubscribe{*this, "--oversubscribe",
                             "All replicas of a placement such as 16xcpu/t1, also more than there are CPUs (default: "
                             "as many as have CPUs of their own)"};
  Option<std::string> shares{*this, "--shares RULE",
                             "Who gets how much of each batch: equal, measured, or weights such as 12:1 (default: "
                             "equal where all replicas are alike, otherwise measured)"};
  Option<std::string> cut = cut_option(*this);
  Option<int> micro_batches{*this, "--micro-batches N", 0, within(zero_or_more()).kept_as("micro-batches"),
                            "With several stages: parts of a batch that are under way at once (default: 4 for each "
                            "stage, or one where batch-norm takes the statistics of the whole batch)"};
  Option<std::string> pipeline_schedule{
      *this, "--pipeline-schedule NAME", "1f1b", one_of({"1f1b", "gpipe", "zero-bubble"}),
      "With several stages: 1f1b (forward and backward by turns), zero-bubble (1f1b with gradients of weights computed "
      "where a stage would wait), or gpipe (all forward first, for comparison)"};
  Option<double> memory{*this, "--memory MB", 0, within(zero_or_more()),
                        "Emulate devices with so much memory: a network that takes more for its weights, gradients and "
                        "activations is refused, and may be divided into stages (default: what there is)"};
  Option<std::string> batch_norm{*this, "--batch-norm NAME", "synchronised",
                                 one_of({"synchronised", "local", "frozen"}).kept_as("batch norm"),
                                 "Batch normalisation: statistics over the whole batch (synchronised), or over each "
                                 "replica's share alone (local), which is quicker and changes what is learnt; or "
                                 "frozen: those of --weights stay, of a detector those of its backbone"};
  Option<std::string> exchange{*this, "--exchange NAME", "auto", one_of({"auto", "always", "host"}),
                               "All-reduce of gradients: auto (with several replicas), always, or host (always, and "
                               "those of GPUs through the memory of their hosts instead of NCCL)"};
  Option<std::string> communication_dtype{
      *this, "--communication-dtype NAME", "fp32", one_of({"fp32", "bf16"}),
      "Communication dtype, in which gradients travel between replicas: fp32, or bf16 (half the bytes)"};
  Option<int> restarts{*this, "--restarts N", 0, within(zero_or_more()).not_recorded().not_in_plans(),
                       "Go on from the last checkpoint so many times when a replica is lost"};
  Option<bool> elastic{*this, "--elastic", rules().not_recorded().not_in_plans(),
                       "When a replica is lost for good, go on with the others; batches stay as large"};
  Option<std::string> hosts{*this, "--hosts NAMES|FILE", rules().with_commas().not_recorded().not_in_plans(),
                            "Repeat the placement on each of these hosts: names with commas between, or a file of "
                            "names (docs/distributed.md; default: those of the Slurm allocation)"};
  /// Set by the process that starts the others: each process leads one host of so many.
  Option<int> hosts_started{*this, "--hosts-started N", 0, rules().unshown().not_recorded().not_inherited(), ""};

  /// Whether the placement is to be chosen by measuring.
  bool is_automatic() const;
  /// `anywhere`: allows more replicas than this host has CPUs for. Throws UsageError.
  placement::PlanOptions plan_options(bool anywhere) const;
  /// Writes `plan` and these options into `options`. Throws UsageError.
  void fill(const placement::Plan& plan, TrainOptions& options) const;

 private:
  void check_together() const override;
};

struct GoalFlags : OptionGroup {
  GoalFlags() : OptionGroup("Goal") {}

  Option<std::string> objective{
      *this, "--for GOAL",
      one_of({"", "time", "energy", "edp", "cost"}).suggesting({"time", "energy", "edp", "cost"}).not_inherited(),
      "What --on auto chooses by: time, energy, edp (energy x time), or cost (default: time, with --deadline energy)"};
  Option<std::optional<double>> deadline{
      *this, "--deadline MINUTES", within(more_than_zero()).not_inherited(),
      "With --on auto: only what trains all epochs in this time, and of that the most frugal"};
  Option<std::optional<double>> budget{
      *this, "--budget WH", within(more_than_zero()).not_inherited(),
      "With --on auto: only what trains all epochs with so many watt-hours, and of that the fastest"};
  Option<std::string> price{*this, "--price PRICES", rules().with_commas().joined_by(",").not_inherited(),
                            "For --for cost, what a kilowatt-hour and an hour of the machine cost, such as "
                            "kwh=0.30,hour=1.2, in any currency"};

  /// Whether anything was asked of the choice.
  bool given() const { return objective.given() || deadline.given() || budget.given() || price.given(); }
  /// `epochs`: of the training that the limits are for.
  Goal goal(int epochs) const;

 private:
  void check_together() const override;
};

}  // namespace evener::training

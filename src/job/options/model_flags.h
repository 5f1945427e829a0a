// Options about the network and its initial weights.
#pragma once

#include "job/options/option.h"
#include "task/training/train.h"

namespace evener::job {

/// The names of networks that a shell completes: "resnet18", and "mlp:", which sizes have to follow.
std::vector<std::string> model_names();
/// The same as a list for help texts: "mlp:SIZES[:relu|sigmoid|tanh], resnet18, ...".
std::string model_list();

struct ModelFlags : OptionGroup {
  ModelFlags();

  Option<std::string> model;
  Option<std::string> weights{
      *this, "--weights FILE", rules().kept_as("weights"),
      "Weights to start from, for fine-tuning (transfer learning): safetensors, a state dict saved by PyTorch, or "
      "imagenet or coco for published ones, which are downloaded once. With another number of classes the last layer "
      "begins anew. For a detector also those of the classifier that it is built on"};
  Option<std::string> quantize{
      *this, "--quantize FORMAT", one_of({"", "int8", "w7", "w6", "w5", "w4"}).kept_as("quantize"),
      "Quantisation-aware training (QAT): train the network of --weights as it will compute when it is quantised: "
      "int8, or w4 to w7, whose weights have fewer bits. A small learning rate is the default then"};
  Option<std::vector<std::string>> freeze{
      *this, "--freeze PATTERN", rules().kept_as("freeze"),
      "Parameters that are not trained, by a pattern of their names, e.g. 'layer*'; may be repeated. Frozen batch-norm "
      "layers go on updating their running statistics, as in PyTorch"};
  Option<std::string> linear_probing{
      *this, "--linear-probing WHEN", "auto", one_of({"auto", "on", "off"}).not_in_plans(),
      "Linear probing before fine-tuning: the last layer is fitted first, on features of the images that are computed "
      "once: auto (where that of --weights doesn't fit the data), on or off"};
  Option<std::string> normalize{
      *this, "--normalize RULE", rules().kept_as("normalize"),
      "Mean and deviation of images: data (of the training images), imagenet, MEAN/STD of values from 0 to 1, such as "
      "0.5/0.25, or pixels: 0 to 255 as they are (default: as the weights' file says, otherwise data)"};

  /// Throws UsageError.
  void fill(task::TrainOptions& options) const;
};

}  // namespace evener::job

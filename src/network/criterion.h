// What a network is trained and judged by: a sum of weighted terms, each of which compares outputs of the network with
// the targets of a batch. Described like a layer, without any computation: engines compute it.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "network/network.h"

namespace evener::network {

/// Softmax cross-entropy of one output, a vector of scores, against (1 - s) * one-hot + s / classes, s being the
/// smoothing. Smoothing is a means of training: an evaluation has the plain cross-entropy.
struct CrossEntropy {
  double label_smoothing = 0;
};
/// Squared distance of one output from the one-hot target, as its mean over the output's values (torch.nn.MSELoss).
struct MeanSquaredError {};

enum class BoxLoss {
  kSmoothL1,  // of the offsets from the anchor (Girshick, Fast R-CNN, 2015), beta 1
  kGiou,      // 1 - generalized intersection over union of the boxes (Rezatofighi et al. 2019)
};
const char* box_loss_name(BoxLoss loss);  // "smooth-l1", "giou"

/// SSD's loss (Liu et al. 2016) as torchvision computes it, of a detector's outputs "boxes" and "scores" (anchors.h).
/// An anchor is matched with the object that it overlaps most, from an intersection over union of `least_overlap` on,
/// and every object with the anchor that overlaps it most. Crowds are no objects: what lies in them is neither one nor
/// background. Summed up are the box loss of the matched anchors, and the
/// cross-entropy of the matched ones and of those that are taken for an object most wrongly: `negatives` times as many
/// per image. Unlike torchvision, no anchor counts twice where an image has fewer left. The sums are over matched
/// anchors, and so is what a step's loss is divided by: those of the whole batch.
struct MultiBox {
  BoxLoss box_loss = BoxLoss::kSmoothL1;
  double least_overlap = 0.5;
  int negatives = 3;
};

using CriterionOp = std::variant<CrossEntropy, MeanSquaredError, MultiBox>;

struct CriterionTerm {
  CriterionOp op = CrossEntropy{};
  double weight = 1;                      // of this term in the sum that is trained on
  std::vector<std::string> outputs = {};  // names of the network's outputs that it reads; none: its first output
  std::string name = "loss";              // of its sums in what a step or an evaluation came to
};

struct Criterion {
  std::vector<CriterionTerm> terms = {{}};
};

/// Criteria of one term on the network's first output.
Criterion cross_entropy(double label_smoothing = 0);
Criterion mean_squared_error();
/// Of a detector's outputs.
Criterion multi_box(BoxLoss box_loss = BoxLoss::kSmoothL1);
/// The criterion's only term, where that is for boxes; null: it is for classes.
const MultiBox* boxes_term(const Criterion& criterion);

/// "cross-entropy", "mse", "multi-box", "multi-box:giou"; of several terms "NAME=cross-entropy+NAME=0.5*mse".
std::string criterion_text(const Criterion& criterion);

/// The sums that engines report for the criterion, in their order: "loss", which is the weighted sum of its terms;
/// where there are several, each of them without its weight, by its name; and "correct", the samples whose class has
/// the highest score in the output that the first term reads. Of boxes: "loss", and of what it is the sum, "box_loss"
/// and "class_loss".
std::vector<std::string> sum_names(const Criterion& criterion);

/// Why the criterion can't be computed on the network's outputs; "" if it can.
std::string why_unfit(const Criterion& criterion, const Network& network);
/// The outputs that a term reads, as indices into Network::outputs(). The criterion fits the network.
std::vector<std::size_t> outputs_of(const CriterionTerm& term, const Network& network);

}  // namespace evener::network

// The loss that a network is trained and evaluated with: a weighted sum of terms, each of which compares outputs of the
// network with the targets of a batch. Only described here, like a layer: engines compute it.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "network/network.h"

namespace evener::network {

/// Softmax cross-entropy of one output, a vector of scores, against (1 - s) * one-hot + s / classes, s being the label
/// smoothing. Evaluations compute the cross-entropy without smoothing.
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

/// SSD's loss (Liu et al. 2016) as torchvision computes it, on a detector's outputs "boxes" and "scores" (anchors.h).
/// An anchor is matched with the object that it overlaps most, if their intersection over union is at least
/// `least_overlap`, and every object with the anchor that overlaps it most. Crowds are no objects, and anchors that lie
/// in them count neither as objects nor as background. The loss is the box loss of the matched anchors, plus the
/// cross-entropy of the matched anchors and of the hardest negatives: those unmatched ones with the largest loss,
/// `negatives` times as many per image as there are matched ones. Unlike in torchvision, no anchor counts twice where
/// an image has fewer left. The sum is divided by the number of matched anchors of the whole batch.
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
  std::string name = "loss";              // of its sum in the results of a step or an evaluation
};

struct Criterion {
  std::vector<CriterionTerm> terms = {{}};
};

/// Criteria with one term, on the network's first output.
Criterion cross_entropy(double label_smoothing = 0);
Criterion mean_squared_error();
/// The criterion of detectors, on their outputs "boxes" and "scores".
Criterion multi_box(BoxLoss box_loss = BoxLoss::kSmoothL1);
/// The criterion's MultiBox term, which is its only one; null where the criterion is for classes.
const MultiBox* boxes_term(const Criterion& criterion);

/// "cross-entropy", "mse", "multi-box", "multi-box:giou"; of several terms "NAME=cross-entropy+NAME=0.5*mse".
std::string criterion_text(const Criterion& criterion);

/// The names of the sums that engines report for the criterion, in their order: "loss", the weighted sum of its terms;
/// where there are several terms, each of them without its weight, by its name; and "correct", the number of samples
/// whose class has the highest score in the output that the first term reads. For boxes: "loss" and its two parts,
/// "box_loss" and "class_loss".
std::vector<std::string> sum_names(const Criterion& criterion);

/// Why the criterion can't be computed on the network's outputs; "" if it can.
std::string why_unfit(const Criterion& criterion, const Network& network);
/// The outputs that a term reads, as indices into Network::outputs(). The criterion fits the network.
std::vector<std::size_t> outputs_of(const CriterionTerm& term, const Network& network);

}  // namespace evener::network

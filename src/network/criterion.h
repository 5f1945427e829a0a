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

using CriterionOp = std::variant<CrossEntropy, MeanSquaredError>;

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

/// "cross-entropy", "mse"; of several terms "NAME=cross-entropy+NAME=0.5*mse".
std::string criterion_text(const Criterion& criterion);

/// The sums that engines report for the criterion, in their order: "loss", which is the weighted sum of its terms;
/// where there are several, each of them without its weight, by its name; and "correct", the samples whose class has
/// the highest score in the output that the first term reads.
std::vector<std::string> sum_names(const Criterion& criterion);

/// Why the criterion can't be computed on the network's outputs; "" if it can.
std::string why_unfit(const Criterion& criterion, const Network& network);
/// The outputs that a term reads, as indices into Network::outputs(). The criterion fits the network.
std::vector<std::size_t> outputs_of(const CriterionTerm& term, const Network& network);

}  // namespace evener::network

// Products of matrices by our own kernels: on the CPU those for comparing embeddings, on accelerators those of a
// perceptron's layer.
#pragma once

#include <memory>
#include <string>

#include "engine/matrix_product.h"

namespace evener::engine::native_mlp {

std::string matrix_refusal(const MatrixOptions& options);
std::unique_ptr<MatrixProduct> make_matrix_product(const MatrixOptions& options);

}  // namespace evener::engine::native_mlp

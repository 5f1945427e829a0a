// Products of matrices by LibTorch: at::mm on the CPU (oneDNN or its BLAS) and on NVIDIA GPUs (cuBLAS).
#pragma once

#include <memory>

#include "engine/matrix_product.h"

namespace evener::engine::torch_engine {

std::string matrix_refusal(const MatrixOptions& options);
std::unique_ptr<MatrixProduct> make_matrix_product(const MatrixOptions& options);

}  // namespace evener::engine::torch_engine

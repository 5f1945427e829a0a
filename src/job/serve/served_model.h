// A server's description of its network, and the conversion of requests to samples.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/preprocess.h"
#include "job/serve/protocol.h"
#include "task/inference/infer.h"

namespace evener::job {

struct ServedOutput {
  std::string name;
  std::vector<std::int64_t> shape;  // of one sample
};

struct ServedModel {
  std::string name;      // in addresses
  std::string platform;  // "evener_openvino"
  std::string input = "input";
  std::vector<std::int64_t> shape;                   // of one sample
  bool is_bytes = true;                              // it takes UINT8, otherwise FP32
  std::optional<data::Preprocessing> pictures = {};  // how picture files become samples; absent = it takes no pictures
  std::vector<ServedOutput> outputs;                 // the one that tells classes first
  std::vector<std::string> classes = {};             // names; empty = not known
  bool tells_unknown = false;                        // it has the output task::kUnknownOutput
  std::string no_classes = {};                       // why its outputs are no classes; "" = they are

  const char* datatype() const { return is_bytes ? "UINT8" : "FP32"; }
};

/// The samples of a request, from tensors or picture files. Throws BadRequest where the model doesn't take them.
std::vector<task::SampleValues> samples_of(const InferRequest& request, const ServedModel& model);

/// The sample of a picture's file, given by its bytes. Throws BadRequest where it can't be decoded.
task::SampleValues sample_of_picture(const std::string& file, const ServedModel& model);

/// The outputs that the request names, or all where it names none. Throws BadRequest for unknown names.
std::vector<WantedOutput> wanted_outputs(const InferRequest& request, const ServedModel& model);

}  // namespace evener::job

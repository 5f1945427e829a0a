// What a server says of its network, and how requests become what the network takes.
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
  std::optional<data::Preprocessing> pictures = {};  // how files become samples; absent = it takes none
  std::vector<ServedOutput> outputs;                 // the one that tells classes first
  std::vector<std::string> classes = {};             // names; empty = not known
  std::string no_classes = {};                       // why it tells none; "" = it does

  const char* datatype() const { return is_bytes ? "UINT8" : "FP32"; }
};

/// The samples of a request. Throws BadRequest where they are not what the model takes, and none of them is a picture
/// that can be read.
std::vector<task::SampleValues> samples_of(const InferRequest& request, const ServedModel& model);

/// The sample that a picture's file becomes. Throws BadRequest.
task::SampleValues sample_of_picture(const std::string& file, const ServedModel& model);

/// The outputs that are asked for; all where none are named. Throws BadRequest for unknown ones.
std::vector<WantedOutput> wanted_outputs(const InferRequest& request, const ServedModel& model);

}  // namespace evener::job

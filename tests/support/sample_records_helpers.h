// Made-up but realistic records and run folders for the tests of report/ and cli/.
#pragma once

#include <filesystem>
#include <string>

#include "report/run.h"

namespace evener::test {

struct SampleRun {
  std::string model = "resnet34";
  std::string data = "synth:masks";
  std::string placement = "cpu/t2";
  double images_per_s = 26.9;
  int epochs = 8;
  double test_accuracy = 0.972;
  int threads = 2;
  std::string started = "2026-11-21T10:15:00Z";
};

/// A run that trained well on a machine without energy counters and judged itself VALID.
record::Record sample_record(const SampleRun& sample = {});

/// The same with samples of CPU and memory, as load_run would give it.
report::Run sample_run(const std::string& name, const SampleRun& sample = {});

/// Writes record.json, epochs.csv and samples.csv of a sample run into `dir`, which is created.
void write_sample_run(const std::filesystem::path& dir, const SampleRun& sample = {});

}  // namespace evener::test

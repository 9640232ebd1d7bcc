{
  'variables': {
    # NATIVE_WERROR=1, set by .ci/run, turns warnings into errors. Not the default: another compiler may warn about more.
    'werror%': '<!(node -p "process.env.NATIVE_WERROR === \'1\' ? 1 : 0")',
  },
  'target_defaults': {
    'conditions': [
      ['werror==1', {
        'cflags_cc': ['-Werror'],
        'xcode_settings': {'GCC_TREAT_WARNINGS_AS_ERRORS': 'YES'},
      }],
    ],
    'cflags_cc': ['-std=c++20', '-Wall', '-Wextra', '-O3', '-fvisibility=hidden', '-pthread'],
    'cflags_cc!': ['-fno-exceptions', '-fno-rtti', '-std=gnu++17', '-std=gnu++20', '-O2'],
    'cflags!': ['-fno-exceptions'],
    'ldflags': ['-pthread'],
    'include_dirs': ['native'],
    'xcode_settings': {
      'CLANG_CXX_LANGUAGE_STANDARD': 'c++20',
      'CLANG_CXX_LIBRARY': 'libc++',
      'GCC_ENABLE_CPP_EXCEPTIONS': 'YES',
      'GCC_ENABLE_CPP_RTTI': 'YES',
      'GCC_OPTIMIZATION_LEVEL': '3',
      'GCC_SYMBOLS_PRIVATE_EXTERN': 'YES',
      'MACOSX_DEPLOYMENT_TARGET': '12.0',
      'WARNING_CFLAGS': ['-Wall', '-Wextra'],
    },
  },
  'targets': [
    {
      # One library per instruction set: only these files may be compiled for more than the base architecture, and
      # native/engine/kernels.cc selects among them at run time. Results must not depend on the set, so the compiler
      # must not contract sums and products.
      'target_name': 'kernels_avx2',
      'type': 'static_library',
      'sources': ['native/engine/kernels_avx2.cc'],
      'conditions': [
        ['target_arch=="x64"', {
          'cflags_cc': ['-mavx2', '-mfma', '-msse4.2', '-ffp-contract=off'],
          'xcode_settings': {'OTHER_CPLUSPLUSFLAGS': ['-mavx2', '-mfma', '-msse4.2', '-ffp-contract=off']},
        }],
      ],
    },
    {
      'target_name': 'kernels_avx512',
      'type': 'static_library',
      'sources': ['native/engine/kernels_avx512.cc'],
      'conditions': [
        ['target_arch=="x64"', {
          'cflags_cc': ['-mavx512f', '-mavx512bw', '-mavx512vl', '-mavx512dq', '-mavx512vnni', '-mfma', '-ffp-contract=off'],
          'xcode_settings': {'OTHER_CPLUSPLUSFLAGS': ['-mavx512f', '-mavx512bw', '-mavx512vl', '-mavx512dq', '-mavx512vnni', '-mfma', '-ffp-contract=off']},
        }],
      ],
    },
    {
      # A file of native/parts includes the sources that are compiled together: most of the time of a small source is spent
      # on the headers of the standard library. The compiler takes 45 s of CPU for the addon, and took 105 s file by file.
      'target_name': 'engine',
      'type': 'static_library',
      # A BM25 score must be the same, bit by bit, whichever inlined copy of its formula computes it.
      'cflags_cc': ['-ffp-contract=off'],
      'xcode_settings': {'OTHER_CPLUSPLUSFLAGS': ['-ffp-contract=off']},
      'dependencies': ['kernels_avx2', 'kernels_avx512'],
      'sources': [
        'native/engine/kernels.cc',
        'native/engine/kernels_neon.cc',
        'native/engine/kernels_scalar.cc',
        'native/parts/engine_collections.cc',
        'native/parts/engine_lexical.cc',
        'native/parts/engine_vectors.cc',
      ],
    },
    {
      'target_name': 'text_avx2',
      'type': 'static_library',
      'sources': [
        'native/text/add_scaled_avx2.cc',
        'native/text/dot_records_avx2.cc',
        'native/text/dot_rows_avx2.cc',
      ],
      'cflags_cc': ['-ffp-contract=off'],
      'conditions': [
        ['target_arch=="x64"', {
          'cflags_cc': ['-mavx2'],
          'xcode_settings': {'OTHER_CPLUSPLUSFLAGS': ['-mavx2', '-ffp-contract=off']},
        }],
      ],
    },
    {
      'target_name': 'text',
      'type': 'static_library',
      'dependencies': ['text_avx2'],
      # Fused multiplication and addition rounds once where two operations round twice: vectors would differ by machine.
      'cflags_cc': ['-ffp-contract=off'],
      'xcode_settings': {'OTHER_CPLUSPLUSFLAGS': ['-ffp-contract=off']},
      'sources': [
        'native/parts/text_models.cc',
        'native/parts/text_terms.cc',
      ],
    },
    {
      'target_name': 'quarry',
      'include_dirs': ["<!@(node -p \"require('node-addon-api').include_dir\")"],
      'dependencies': ['engine', 'text'],
      'sources': [
        'native/parts/bridge_engine.cc',
        'native/parts/bridge_text.cc',
      ],
      # The last one: an exception cannot be thrown into a worker that is being terminated, which must not end the process.
      'defines': ['NAPI_VERSION=8', 'NAPI_CPP_EXCEPTIONS', 'NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS'],
    },
    {
      'target_name': 'engine_test',
      'type': 'executable',
      'dependencies': ['engine', 'text'],
      'include_dirs': ['test/native'],
      'cflags_cc': ['-ffp-contract=off'],
      'xcode_settings': {'OTHER_CPLUSPLUSFLAGS': ['-ffp-contract=off']},
      'sources': [
        'test/native/attributes_test.cc',
        'test/native/calibration_test.cc',
        'test/native/codes_test.cc',
        'test/native/collection_test.cc',
        'test/native/file_pages_test.cc',
        'test/native/fine_chunks_test.cc',
        'test/native/graph_test.cc',
        'test/native/kernels_test.cc',
        'test/native/lexical_test.cc',
        'test/native/load_test.cc',
        'test/native/main.cc',
        'test/native/packed_terms_test.cc',
        'test/native/postings_test.cc',
        'test/native/reply_test.cc',
        'test/native/search_test.cc',
        'test/native/snapshot_test.cc',
        'test/native/snapshot_vectors_test.cc',
        'test/native/spelling_test.cc',
        'test/native/text_test.cc',
        'test/native/thread_pool_test.cc',
      ],
    },
  ],
}

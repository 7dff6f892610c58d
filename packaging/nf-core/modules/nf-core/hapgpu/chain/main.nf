process HAPGPU_CHAIN {
    tag "$meta.id"
    label 'process_medium'

    conda "${moduleDir}/environment.yml"
    container "${ workflow.containerEngine in ['singularity', 'apptainer'] && !task.ext.singularity_pull_docker_container ?
        'https://depot.galaxyproject.org/singularity/hapgpu:0.1.0--pyhdfd78af_0':
        'quay.io/biocontainers/hapgpu:0.1.0--pyhdfd78af_0' }"

    input:
    tuple val(meta), path(reads)
    tuple val(meta2), path(target)

    output:
    tuple val(meta), path("*.paf")           , emit: paf       , optional: true
    tuple val(meta), path("*.{sam,bam,cram}"), emit: alignments, optional: true
    tuple val(meta), path("*.json")          , emit: json
    tuple val("${task.process}"), val('hapgpu'), eval("hapgpu --version | sed 's/hapgpu //'"), topic: versions, emit: versions_hapgpu

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    def prefix = task.ext.prefix ?: "${meta.id}"
    def extension = args.contains("--output-fmt bam") ? "bam" :
        args.contains("--output-fmt cram") ? "cram" :
        args.contains("--output-fmt sam") || args.tokenize().contains("-a") ? "sam" : "paf"
    if ("${reads}" == "${prefix}.${extension}") error "Input and output names are the same, use \"task.ext.prefix\" to disambiguate!"
    """
    hapgpu chain \\
        --threads ${task.cpus} \\
        ${args} \\
        --json ${prefix}.chain.json \\
        -o ${prefix}.${extension} \\
        ${target} \\
        ${reads}
    """

    stub:
    def args = task.ext.args ?: ''
    def prefix = task.ext.prefix ?: "${meta.id}"
    def extension = args.contains("--output-fmt bam") ? "bam" :
        args.contains("--output-fmt cram") ? "cram" :
        args.contains("--output-fmt sam") || args.tokenize().contains("-a") ? "sam" : "paf"
    if ("${reads}" == "${prefix}.${extension}") error "Input and output names are the same, use \"task.ext.prefix\" to disambiguate!"
    """
    echo ${args}
    touch ${prefix}.${extension}
    touch ${prefix}.chain.json
    """
}

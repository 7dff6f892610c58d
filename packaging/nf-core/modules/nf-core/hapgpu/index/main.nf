process HAPGPU_INDEX {
    tag "$meta.id"
    label 'process_medium'

    conda "${moduleDir}/environment.yml"
    container "${ workflow.containerEngine in ['singularity', 'apptainer'] && !task.ext.singularity_pull_docker_container ?
        'https://depot.galaxyproject.org/singularity/hapgpu:0.1.0--pyhdfd78af_0':
        'quay.io/biocontainers/hapgpu:0.1.0--pyhdfd78af_0' }"

    input:
    tuple val(meta), path(fasta)

    output:
    tuple val(meta), path("*.{hgx,hgm}"), emit: index
    tuple val(meta), path("*.json")     , emit: json
    tuple val("${task.process}"), val('hapgpu'), eval("hapgpu --version | sed 's/hapgpu //'"), topic: versions, emit: versions_hapgpu

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    def prefix = task.ext.prefix ?: "${meta.id}"
    def minimizers = args.contains("--minimizers")
    def threads = minimizers ? "--threads ${task.cpus}" : ""
    def suffix = minimizers ? "hgm" : "hgx"
    """
    hapgpu index \\
        ${threads} \\
        ${args} \\
        --json ${prefix}.index.json \\
        -o ${prefix}.${suffix} \\
        ${fasta}
    """

    stub:
    def args = task.ext.args ?: ''
    def prefix = task.ext.prefix ?: "${meta.id}"
    def suffix = args.contains("--minimizers") ? "hgm" : "hgx"
    """
    echo ${args}
    touch ${prefix}.${suffix}
    touch ${prefix}.index.json
    """
}

process HAPGPU_MAP {
    tag "$meta.id"
    label 'process_medium'

    conda "${moduleDir}/environment.yml"
    container "${ workflow.containerEngine in ['singularity', 'apptainer'] && !task.ext.singularity_pull_docker_container ?
        'https://depot.galaxyproject.org/singularity/hapgpu:0.1.0--pyhdfd78af_0':
        'quay.io/biocontainers/hapgpu:0.1.0--pyhdfd78af_0' }"

    input:
    tuple val(meta), path(reads)
    tuple val(meta2), path(fasta), path(index)

    output:
    tuple val(meta), path("*.bam") , emit: bam
    tuple val(meta), path("*.json"), emit: json
    tuple val("${task.process}"), val('hapgpu'), eval("hapgpu --version | sed 's/hapgpu //'"), topic: versions, emit: versions_hapgpu

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    def prefix = task.ext.prefix ?: "${meta.id}"
    def reference = index ?: fasta
    """
    hapgpu map \\
        --threads ${task.cpus} \\
        ${args} \\
        --json ${prefix}.map.json \\
        -o ${prefix}.bam \\
        ${reference} \\
        ${reads}
    """

    stub:
    def args = task.ext.args ?: ''
    def prefix = task.ext.prefix ?: "${meta.id}"
    """
    echo ${args}
    touch ${prefix}.bam
    touch ${prefix}.map.json
    """
}
